"""The archive that proves a report: figures, how they were made, and the log lines behind each interruption."""
