"""Invitations into a team, by token and, where an address is known, by mail."""
