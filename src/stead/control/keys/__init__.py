"""API keys, and the rate buckets that a credential spends from."""
