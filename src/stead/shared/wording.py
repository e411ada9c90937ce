"""How messages to customers name fields and quote what was sent."""

import re

_ABBREVIATIONS = frozenset({"css", "dns", "hsts", "id", "ip", "php", "sql", "ssh", "ttl", "url", "waf"})
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
MAX_QUOTED = 60
MAX_REASON = 1000


def quote(text: str) -> str:
    """The text in quotation marks: one line, shortened, without control characters."""
    shown = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text[: MAX_QUOTED + 1])
    return f'"{shown}"' if len(text) <= MAX_QUOTED else f'"{shown[:MAX_QUOTED]}…"'


def clean_reason(text: str) -> str:
    """Why something has failed, in the words of a node or of a customer's program: of limited length and
    without what PostgreSQL cannot store. Lines stay lines."""
    shown = text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", shown)


def noun_of(name: str) -> str:
    """`php_version` is a `PHP version`; an item of `scopes` is a `scope`."""
    words = [word.upper() if word in _ABBREVIATIONS else word for word in name.split("_") if word]
    return " ".join(words) or "value"


def singular(name: str) -> str:
    """Of the name of a list: `addresses` has items that are each an `address`."""
    for ending, replacement in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if name.endswith(ending):
            return name[: -len(ending)] + replacement
    return name


def with_article(noun: str) -> str:
    first = noun[:1].lower()
    spoken_vowel = first in "aeio" or (noun[:2].isupper() and first in "fhlmnrsx")
    return f"an {noun}" if spoken_vowel else f"a {noun}"
