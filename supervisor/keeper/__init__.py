"""The process in the batch shell's place."""
