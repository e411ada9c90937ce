"""Artifacts: trees packed into layers, named by digest, signed, and unpacked with every entry checked."""
