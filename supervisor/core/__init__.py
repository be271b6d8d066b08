"""Pure decisions: no I/O, no clock. Facts in, intentions out."""
