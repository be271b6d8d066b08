"""Random faults of all kinds at random moments, also within recoveries; and what must hold all the same."""
