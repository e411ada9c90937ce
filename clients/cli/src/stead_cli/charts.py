"""Small charts for terminals: bars of eight heights, as wide as the terminal allows."""

import os
from collections.abc import Sequence

_HEIGHTS = "▁▂▃▄▅▆▇█"
_GAP = " "
_MOST = 120


def width_of_terminal(reserved: int = 0) -> int:
    """Columns that are left on stdout; 80 where there is no terminal."""
    try:
        columns = os.get_terminal_size(1).columns
    except OSError:
        columns = 80
    return max(10, min(_MOST, columns) - reserved)


def bars(values: Sequence[float | None], width: int) -> str:
    """One character for each value, or for the highest of several if there are more than columns."""
    if not values:
        return ""
    cells = [_highest(values[start:end]) for start, end in _ranges(len(values), width)]
    top = max((each for each in cells if each is not None), default=0.0)
    return "".join(_GAP if each is None else _HEIGHTS[_level(each, top)] for each in cells)


def _ranges(count: int, width: int) -> list[tuple[int, int]]:
    columns = min(count, width)
    return [(at * count // columns, (at + 1) * count // columns) for at in range(columns)]


def _highest(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return max(known) if known else None


def _level(value: float, top: float) -> int:
    """The lowest bar is for nothing: whatever happened can be seen."""
    if value <= 0 or top <= 0:
        return 0
    return max(1, round(value / top * (len(_HEIGHTS) - 1)))
