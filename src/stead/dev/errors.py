"""Failures that the user of `steadctl dev` can correct."""

from stead.dev.packages import Packages


class DevError(Exception):
    """The message says what to do."""


class ProgramMissing(DevError):
    def __init__(self, program: str, packages: Packages) -> None:
        super().__init__(f"{program} is not installed; install it with: {packages.install_command}")
