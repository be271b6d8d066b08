"""What works on this cluster, what is limited, what that costs and how to mend it: for `supervise doctor`."""
