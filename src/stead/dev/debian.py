"""Facts about installed Debian packages."""

from stead.dev.subprocesses import run


async def read_package_version(package: str) -> str:
    """For programs that do not print their version. Returns "0" if the package is not installed."""
    completed = await run(["/usr/bin/dpkg-query", "--show", "--showformat=${Version}", package])
    return completed.output.strip() or "0"
