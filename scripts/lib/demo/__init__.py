"""The demo: a real training job on a throw-away Slurm, a node killed under it, the incident on the screen."""
