"""`python -m tidegate`: the `tidegate` command."""

from tidegate.cli import main

main()
