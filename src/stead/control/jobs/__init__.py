"""Jobs: work that takes too long for a request."""
