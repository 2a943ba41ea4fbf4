"""Entry point of the command `interp`, and of `python -m interp`."""

from interp.cli import main

if __name__ == "__main__":
    main()
