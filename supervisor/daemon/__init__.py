"""The supervisor process: wires edges to core; one task group."""
