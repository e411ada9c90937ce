"""The agent on every host that runs sites, and its drivers."""
