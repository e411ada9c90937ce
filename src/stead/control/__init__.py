"""The control plane: the HTTP API and, beside it, the worker that carries out what the API accepts."""
