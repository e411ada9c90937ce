"""Generates the clients from the API description: `python -m clients.generator`."""
