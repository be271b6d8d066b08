"""What people read of runs and incidents, as text and JSON."""
