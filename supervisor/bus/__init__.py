"""How agents and supervisor reach each other."""
