"""Accounts and their sessions."""
