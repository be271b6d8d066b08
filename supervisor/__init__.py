"""The supervisor of training jobs; run isolated, never imported by users (see `supervise_beat`)."""

__version__ = "0.1.0"
