"""SSH access to sites: the sessions, which the agent starts in containers, and the gateway, which speaks SSH
and has no privileges."""
