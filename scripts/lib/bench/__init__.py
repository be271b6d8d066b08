"""Measures what the product costs and how fast it is, beside what it is compared with."""
