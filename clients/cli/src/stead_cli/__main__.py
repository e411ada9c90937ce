"""`python -m stead_cli`."""

from stead_cli.main import main

main()
