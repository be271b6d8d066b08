"""The test job of `supervise doctor --job`: what it runs on the nodes, and what is made of its answers."""
