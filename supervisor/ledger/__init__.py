"""Run folders, records and the event log on disk."""
