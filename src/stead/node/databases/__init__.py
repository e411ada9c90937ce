"""The databases of a node: one MariaDB server, with a schema and a user for each environment.

The server outlives the agent. The data directory and the accounts of the server say everything; the agent
keeps nothing about it.
"""
