"""Frozen facts that rooms exchange. No I/O, no decisions."""
