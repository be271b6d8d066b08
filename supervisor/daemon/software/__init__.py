"""What an attempt runs with, and what of it changed since the last good run."""
