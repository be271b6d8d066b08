"""`python -I -m supervisor.agent CONFIG`: the way to start an agent from an installed package."""

import sys

from supervisor.agent.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
