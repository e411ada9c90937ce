"""Windows, errors and names of insights. No I/O."""

from dataclasses import dataclass

from stead.shared.errors import InvalidRequest, ServerFault

PREFIX = "telemetry/"
URL_SECONDS = 600
"""How long a node may put a chunk at an address."""


def object_name(node: str, chunk: str) -> str:
    return f"{PREFIX}{node}/{chunk}"


class InsightsUnavailable(ServerFault):
    status = 503
    code = "insights.unavailable"
    message = "Insights cannot be read at the moment."
    remedy = "Try again in a minute. Nothing is lost meanwhile: what happens now is recorded and shown later."


class WindowTooExpensive(InvalidRequest):
    code = "insights.too_expensive"
    message = "There is too much data in this window to answer in time."
    remedy = "Ask for a shorter window, or filter more."


@dataclass(frozen=True, slots=True)
class ReadableSites:
    """Sites that the caller can see, each with the environment that is shown for it. Made by the query in
    `store.py`."""

    environments: tuple[tuple[str, str], ...]
    """Site and environment."""
    truncated: bool
    """The caller has more sites than one answer can be about."""
