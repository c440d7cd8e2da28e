"""``python -m inferlane``."""

from inferlane.cli.main import program

if __name__ == "__main__":
    program()
