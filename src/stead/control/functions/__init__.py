"""WebAssembly functions: built from source, served on the domain of their site, with state and secrets."""
