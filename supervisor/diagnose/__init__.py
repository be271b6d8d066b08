"""Pure: evidence in, verdict out."""
