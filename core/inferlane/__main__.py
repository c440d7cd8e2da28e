"""``python -m inferlane``."""

import sys

from inferlane.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
