"""The commands, one file each, imported lazily."""
