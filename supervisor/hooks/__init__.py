"""What Slurm's prolog, epilog and health check run as root: bounded in time, no Slurm call from prolog or epilog."""
