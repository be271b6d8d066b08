"""What counters, states and recordings beside the logs show, as findings. Pure."""
