"""The blocking client, generated from `_async`."""
