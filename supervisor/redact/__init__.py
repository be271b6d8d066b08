"""Takes secrets out of texts that leave the run folder. Pure."""
