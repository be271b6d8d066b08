"""Readers of devices and hosts."""
