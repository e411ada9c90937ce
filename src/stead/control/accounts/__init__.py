"""Accounts and the sessions of the people who own them."""
