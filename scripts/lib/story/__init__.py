"""Supervised jobs on a testbed, as the demo, the benchmarks and the tests run them."""
