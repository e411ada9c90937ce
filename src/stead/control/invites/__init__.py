"""Invites to a team, by token and optionally by email."""
