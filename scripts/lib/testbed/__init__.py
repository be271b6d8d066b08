"""A throw-away real multi-node Slurm on one Debian machine; `api.Testbed` is the door for programs."""
