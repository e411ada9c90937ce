"""Artifacts: the signed results of builds, named by digest and kept while they may be deployed."""
