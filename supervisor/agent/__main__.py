"""`python -I -m supervisor.agent CONFIG`: from the installed package, or from what a node has unpacked."""

import sys

from supervisor.agent.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
