"""How a shape marks a secret, so that clients neither print nor log it."""

SENSITIVE = {"x-sensitive": True}
"""For `Meta(extra_json_schema=SENSITIVE)`."""
