"""`python -m raffia` is the command line."""

from raffia.cli import main

if __name__ == "__main__":
    main()
