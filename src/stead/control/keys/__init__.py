"""API keys, and the rate limits of a credential."""
