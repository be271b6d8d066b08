"""Injects chosen faults into a supervised job and tells how each of them was handled."""
