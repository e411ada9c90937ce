"""Commands in the environments of WordPress sites."""
