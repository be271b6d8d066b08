"""Finds and verifies checkpoints; never writes to them."""
