"""Readers of accelerators, one module per maker."""
