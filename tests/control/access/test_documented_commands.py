"""The curl commands of docs/ssh.md do what it says."""

import re
import shlex
from pathlib import Path
from string import Template
from typing import Any

import httpx

from tests.client import Client
from tests.control.access.conftest import EnteredSite
from tests.control.access.keys import new_public_key

DOCUMENT = Path(__file__).parents[3] / "docs" / "ssh.md"
BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _commands(**variables: str) -> list[list[str]]:
    lines = "".join(BLOCK.findall(DOCUMENT.read_text())).replace("\\\n", " ").splitlines()
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


async def test_the_documented_commands_work(entered_site: EnteredSite, anonymous: Client) -> None:
    site, key = entered_site, new_public_key("anna@laptop")
    secret = await site.owner.secret("credentials:write")
    variables = {
        "STEAD_BASE_URL": "http://stead.test",
        "SITE": site.id,
        "STEAD_API_KEY": secret,
        "PUBLIC_KEY": key,
    }
    responses = [await _run(anonymous, command) for command in _commands(**variables)]
    assert [response.status_code for response in responses] == [200, 202, 200, 200, 200]
    listed, _, credentials, reset, of_database = (response.json()["data"] for response in responses)
    assert listed == {"keys": []}
    assert [each["label"] for each in await site.list_keys()] == ["Laptop"]
    assert credentials["environments"][0]["ssh"]["user"] == reset["user"]
    assert credentials["environments"][0]["database"]["user"] == of_database["user"]
