"""``python -m chasles``: the command line."""

from chasles.cli import main

if __name__ == "__main__":
    main()
