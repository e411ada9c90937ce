"""The request path: routing, authentication, rate limits, validation, dispatch and responses."""
