"""How many files a process may open: usually 1024, and more only if it asks for them."""

import resource


def raise_limit(needed: int | None = None) -> None:
    """Up to the number that is needed, or to what is allowed; never lower it."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if needed is None else min(needed, most)
    if allowed < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
