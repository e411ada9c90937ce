"""Projects of a team: the same use cases as a person's own, under the team's roles."""
