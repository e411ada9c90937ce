"""Looks for malware in the files and rows of sites, and moves infected files to a store and back.

Files are read only in a process of its own (`child.py`), which has its own user, no network and no file
system: it gets open descriptors. It asks two engines, clamd and YARA.
"""
