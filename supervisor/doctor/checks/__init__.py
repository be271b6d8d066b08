"""Each check is a pure function of the place; `table.py` has them all."""
