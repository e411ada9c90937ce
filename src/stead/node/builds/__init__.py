"""Builds: from a source to a packed layer. Customers' code runs only in a sandbox."""
