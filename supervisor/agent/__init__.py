"""The process on each node."""
