"""Checks of a node before a launch."""
