"""`python -m aquamend` is the program `aquamend`."""

from aquamend.cli.main import main

if __name__ == "__main__":
    main()
