"""Executes the curl commands of the documentation."""

import re
import shlex
from pathlib import Path
from string import Template
from typing import Any

import httpx

from tests.client import Client

DOCUMENTS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


async def run_commands(client: Client, document: str, **variables: str) -> list[httpx.Response]:
    """In their order. `variables` are what a reader has exported, besides the address of the API."""
    values = {"STEAD_BASE_URL": "http://stead.test", **variables}
    return [await _run(client, command) for command in _commands(document, values)]


def _commands(document: str, variables: dict[str, str]) -> list[list[str]]:
    text = (DOCUMENTS / document).read_text()
    lines = "".join(BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    # As bash does it: a quoted variable stays one word.
    return [
        [Template(word).substitute(variables) for word in shlex.split(line)]
        for line in lines
        if line.startswith("curl ")
    ]


async def _run(client: Client, command: list[str]) -> httpx.Response:
    _, *words = command
    options: dict[str, Any] = {"-X": "GET", "-d": None}
    headers, urls = {}, []
    while words:
        word = words.pop(0)
        if word == "-H":
            name, _, value = words.pop(0).partition(": ")
            headers[name] = value
        elif word.startswith("-"):
            options[word] = words.pop(0)
        else:
            urls.append(word)
    (url,) = urls
    return await client.request(options["-X"], url, headers=headers, content=options["-d"])
