"""Whether a constraint of Composer allows a version of PHP, such as `8.4`. No I/O.

The control plane knows the version, not the patch release of an image. A version is allowed if any patch
release of it is. The node of a site compares the exact one, with Composer's own code.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from stead.protocol.work.builds import LONGEST_PHP_REQUIREMENT

Point = tuple[int, int, int, int]


_OR = re.compile(r"\s*\|\|?\s*")
_AND = re.compile(r"[\s,]+")
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)")
_SPACED = re.compile(r"(>=|<=|==|!=|<>|[<>=~^])\s+")
_STABILITY = re.compile(r"(@|-)(dev|alpha|beta|rc|stable|a|b|p|pl|patch)[0-9.]*$", re.IGNORECASE)
_PART = re.compile(r"(>=|<=|==|!=|<>|[<>=~^])?v?(\d{1,9}(?:\.\d{1,9}){0,3})(\.[*x])?", re.IGNORECASE)
_FIRST: Point = (0, 0, 0, 0)
_LAST: Point = (10**9, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class _Range:
    """From `low` to `high`. The ends belong to it or not."""

    low: Point = _FIRST
    high: Point = _LAST
    with_low: bool = True
    with_high: bool = False

    def is_empty(self) -> bool:
        return self.low > self.high or (self.low == self.high and not (self.with_low and self.with_high))

    def narrowed(self, other: "_Range") -> "_Range":
        low, without_low = max((self.low, not self.with_low), (other.low, not other.with_low))
        high, with_high = min((self.high, self.with_high), (other.high, other.with_high))
        return _Range(low, high, not without_low, with_high)


@lru_cache(maxsize=1024)
def allows(constraint: str, version: str) -> bool | None:
    """None if this is not known: the constraint is written in a way that is not understood."""
    if len(constraint) > LONGEST_PHP_REQUIREMENT:
        return None
    major, minor = (int(number) for number in version.split("."))
    patches = _Range((major, minor, 0, 0), (major, minor + 1, 0, 0))
    known = True
    for alternative in _OR.split(constraint.strip()):
        ranges = _read_alternative(alternative)
        if ranges is None:
            known = False
            continue
        left = patches
        for each in ranges:
            left = left.narrowed(each)
        if not left.is_empty():
            return True
    return False if known else None


def _read_alternative(text: str) -> list[_Range] | None:
    found: list[_Range] = []
    for low, high in _HYPHEN.findall(text):
        ends = _read_hyphen(low, high)
        if ends is None:
            return None
        found.append(ends)
    rest = _SPACED.sub(r"\1", _HYPHEN.sub(" ", text)).strip(" \t\n,")
    for part in _AND.split(rest) if rest else []:
        one = _read_part(_STABILITY.sub("", part))
        if one is None:
            return None
        found.append(one)
    return found or None


def _read_hyphen(low: str, high: str) -> _Range | None:
    """`8.0 - 8.3` includes 8.3.9; `8.0 - 8.3.1` ends with 8.3.1."""
    first, last = _PART.fullmatch(low), _PART.fullmatch(high)
    if first is None or last is None or first[1] or last[1] or first[3] or last[3]:
        return None
    numbers = _numbers(last[2])
    if len(numbers) < 3:
        return _Range(_pad(_numbers(first[2])), _pad(_next(numbers)))
    return _Range(_pad(_numbers(first[2])), _pad(numbers), with_high=True)


def _read_part(text: str) -> _Range | None:
    if text in ("*", "x", "X"):
        return _Range()
    found = _PART.fullmatch(text)
    if found is None:
        return None
    operator, numbers = found[1] or "=", _numbers(found[2])
    if found[3]:
        return _Range(_pad(numbers), _pad(_next(numbers))) if operator in ("=", "==") else None
    if operator == "^" and not numbers[0]:
        # Below 1.0 it means something else, and there is no such PHP.
        return None
    return _READERS[operator](numbers)


_READERS: dict[str, Callable[[list[int]], _Range]] = {
    "^": lambda numbers: _Range(_pad(numbers), (numbers[0] + 1, 0, 0, 0)),
    "~": lambda numbers: _Range(_pad(numbers), _pad(_next(numbers[:-1] or numbers))),
    ">=": lambda numbers: _Range(_pad(numbers)),
    ">": lambda numbers: _Range(_pad(numbers), with_low=False),
    "<": lambda numbers: _Range(high=_pad(numbers)),
    "<=": lambda numbers: _Range(high=_pad(numbers), with_high=True),
    "=": lambda numbers: _Range(_pad(numbers), _pad(numbers), with_high=True),
    "==": lambda numbers: _Range(_pad(numbers), _pad(numbers), with_high=True),
    # One patch release less is never all of them.
    "!=": lambda _: _Range(),
    "<>": lambda _: _Range(),
}


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(".")]


def _next(numbers: list[int]) -> list[int]:
    return [*numbers[:-1], numbers[-1] + 1]


def _pad(numbers: list[int]) -> Point:
    first, second, third, fourth, *_ = [*numbers, 0, 0, 0, 0]
    return first, second, third, fourth
