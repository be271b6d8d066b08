"""The supervisor of training jobs; run isolated, never imported by users (see `supervise_beat`)."""
