"""Talking to Slurm: argument lists, pure parsers, submission, shim, environment."""
