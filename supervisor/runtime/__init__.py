"""What the processes of a run are started from: our modules as one file, and the program that unpacks it."""
