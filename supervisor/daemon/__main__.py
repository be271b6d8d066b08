"""`python -I -m supervisor.daemon RUNDIR`: started by the keeper, never by hand."""

import sys

from supervisor.daemon.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
