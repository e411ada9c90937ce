"""Starts Stead's programs without importing them again.

Importing the API or the worker takes longer than everything else they do until they are ready, and the tests
start them hundreds of times. `server.py` imports them once and forks; the program then runs as if started by
`python -m`. Tests that check how programs are started, such as `tests/dev`, do not use this.
"""
