"""Artifacts: what builds left, named by digest, signed, kept while anybody may want it."""
