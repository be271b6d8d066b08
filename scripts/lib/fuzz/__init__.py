"""Coverage-guided fuzzing of what reads files that job users can write."""
