"""The MariaDB server of a node: its configuration, its first start, and a connection as its administrator.

Nodes and `steadctl dev` run the same server.
"""
