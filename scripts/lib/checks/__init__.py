"""What `scripts/check` and `scripts/test` run."""
