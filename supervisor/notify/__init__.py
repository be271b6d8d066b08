"""Tells persons of a run: by mail, by webhook, by plugins. Nothing here decides, and nothing waits for it."""
