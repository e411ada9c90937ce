"""Failures that the customer can fix. The message is what the customer reads."""


class BuildFailed(Exception):
    code = "build.failed"


class RefMissing(BuildFailed):
    """The branch may just not exist yet."""

    code = "build.ref_missing"
