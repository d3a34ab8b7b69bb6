"""``python -m bnplug``: the same as the command ``bnplug``."""

from bnplug.cli import main

if __name__ == "__main__":
    main()
