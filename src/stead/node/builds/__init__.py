"""Builds: from a source to a packed layer. Whatever is a customer's runs in a sandbox."""
