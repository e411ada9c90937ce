"""What runs inside the container of functions. It imports only the standard library and wasmtime: nothing of
the platform, and no secret of it, is in these processes."""
