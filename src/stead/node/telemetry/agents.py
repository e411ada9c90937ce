"""Reduces the `User-Agent` of a visitor to a family and a kind of device. Nothing else of it is kept."""

import re
from functools import lru_cache
from typing import NamedTuple

_BOT = re.compile(
    r"bot\b|crawl|spider|slurp|preview|monitor|fetch|scan|archiver|lighthouse|headless|"
    r"^(curl|wget|python|go-http|java|okhttp|axios|node|php|ruby|perl|libwww|apache-httpclient)",
    re.IGNORECASE,
)
_NAMED_BOT = re.compile(
    r"(Googlebot|bingbot|GPTBot|ClaudeBot|CCBot|PerplexityBot|Bytespider|Applebot|YandexBot|Baiduspider|"
    r"DuckDuckBot|AhrefsBot|SemrushBot|facebookexternalhit|Twitterbot|Slackbot|Discordbot|UptimeRobot)",
    re.IGNORECASE,
)
_LIBRARY = re.compile(
    r"^(curl|Wget|python-requests|python-httpx|Go-http-client|Java|okhttp|axios|node-fetch)", re.IGNORECASE
)
_BROWSERS = (
    ("Edge", re.compile(r"\bEdg(e|A|iOS)?/")),
    ("Opera", re.compile(r"\b(OPR|Opera)/")),
    ("Samsung Internet", re.compile(r"\bSamsungBrowser/")),
    ("Firefox", re.compile(r"\b(Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"\b(Chrome|CriOS|Chromium)/")),
    ("Safari", re.compile(r"\bVersion/[\d.]+.*\bSafari/")),
)
_TABLET = re.compile(r"iPad|Tablet|Android(?!.*Mobile)")
_MOBILE = re.compile(r"Mobi|iPhone|Android")
_DESKTOP = re.compile(r"Windows NT|Macintosh|X11|CrOS")


class Agent(NamedTuple):
    family: str
    device: str


OTHER = Agent("Other", "other")


@lru_cache(maxsize=20_000)
def reduce_agent(text: str) -> Agent:
    if named := _NAMED_BOT.search(text) or _LIBRARY.search(text):
        return Agent(named[1], "bot")
    if not text or _BOT.search(text):
        return Agent("Bot" if text else "None", "bot")
    family = next((name for name, pattern in _BROWSERS if pattern.search(text)), "Other")
    for device, pattern in (("tablet", _TABLET), ("mobile", _MOBILE), ("desktop", _DESKTOP)):
        if pattern.search(text):
            return Agent(family, device)
    return OTHER if family == "Other" else Agent(family, "other")
