"""Which nodes interrupt jobs more than chance explains, and what to do about them. Pure: functions of histories."""
