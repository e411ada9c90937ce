"""Containers: customers' code in runc, with its own users, disk, limits, system call filter and way out.

Builds use them, and so can runtimes whose sites have processes.
"""
