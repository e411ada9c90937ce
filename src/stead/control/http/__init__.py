"""The request path: from bytes to an operation and back."""
