"""Makes the product runnable on this machine: packages, a virtual environment, what ordinary users can read."""
