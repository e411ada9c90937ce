"""An older client with this server, and this client with an older server."""

import asyncio
import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clients.generator import python
from clients.generator.description import Description, Operation
from stead_sdk import Stead
from stead_sdk._model import Model
from tests.clients.callers import Caller
from tests.clients.compatibility import broken_promises
from tests.patience import slowdown
from tests.people import Person

ROOT = Path(__file__).parents[2]
CURRENT = ROOT / "openapi" / "v1.json"
OLDER = sorted((ROOT / "clients" / "descriptions").glob("*.json"))
each_older = pytest.mark.parametrize("older", OLDER, ids=lambda file: file.stem)


@each_older
def test_the_description_takes_nothing_away(older: Path):
    assert list(broken_promises(json.loads(older.read_text()), json.loads(CURRENT.read_text()))) == []


def test_what_is_taken_away_is_noticed():
    now = json.loads(CURRENT.read_text())
    for change, noticed in _CHANGES.items():
        later = copy.deepcopy(now)
        noticed(later)
        assert list(broken_promises(now, later)), change


def _schema(description: Any, name: str) -> Any:
    return description["components"]["schemas"][name]


_CHANGES: dict[str, Any] = {
    "an operation": lambda later: later["paths"]["/v1/teams"].pop("post"),
    "a field of a response": lambda later: _schema(later, "Site")["required"].remove("domain"),
    "a type": lambda later: _schema(later, "Site")["properties"].update(slug={"type": "integer"}),
    "a field of a body": lambda later: _schema(later, "NewSite")["properties"].pop("team_id"),
    "a required field": lambda later: _schema(later, "NewSite")["required"].append("region"),
    "a value": lambda later: _schema(later, "Profile")["enum"].remove("static"),
}


@each_older
def test_an_older_client_works_with_this_server(older: Path, api: str, person_key: str, tmp_path: Path):
    """Generated from the older description."""
    package = tmp_path / python.PACKAGE
    shutil.copytree(ROOT / python.PACKAGE, package, ignore=shutil.ignore_patterns("resources", "__pycache__"))
    for path, text in python.files(Description(older), tmp_path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("old_client.py"), api, person_key],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        timeout=120 * slowdown(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["names"] == ["from another time"]
    assert (told["job"], told["code"]) == ("queued", "site.not_found")
    assert told["account"].startswith("client_")


@pytest.fixture
async def person_key(person: Person) -> str:
    return await person.secret()


@each_older
async def test_this_client_reads_what_an_older_server_sends(older: Path, flavor: str):
    """The server sends the examples of the older description, and nothing else."""
    described = Description(older)
    async with _examples(described) as address:
        caller = Caller(flavor, "key", base_url=address, max_retries=0)
        reads = [
            each for each in described.operations if each.kind in ("object", "list") and each.method == "GET"
        ]
        assert len(reads) > 40
        for operation in reads:
            found = await caller.run(partial(_call, operation))
            for model in found if isinstance(found, list) else [found]:
                assert isinstance(model, Model)
                for field in model._fields:
                    getattr(model, field)
        caller.client.close()


def _call(operation: Operation, client: Any) -> Any:
    values = ["x" for _ in operation.path_parameters]
    needed = {field.name: "x" for field in operation.query if field.required}
    return getattr(getattr(client, operation.resource), operation.action)(*values, **needed)


@asynccontextmanager
async def _examples(described: Description) -> AsyncIterator[str]:
    """A server that answers every request with the example of its response."""
    answers = {
        (operation.method, len(operation.path.split("/")), _pattern(operation.path)): _example(
            described, operation
        )
        for operation in described.operations
    }

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.splitlines()[0].split(" ")
        body = json.dumps(
            answers[(method, len(target.split("/")), _pattern(target.partition("?")[0]))]
        ).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield "http://{}:{}".format(*server.sockets[0].getsockname()[:2])


def _pattern(path: str) -> str:
    return "/".join("*" if part == "x" or part.startswith("{") else part for part in path.split("/"))


def _example(described: Description, operation: Operation) -> Any:
    entry = described.document["paths"][operation.path][operation.method.lower()]
    for status, response in entry["responses"].items():
        if status < "300":
            found = described._resolve(response).get("content", {}).get("application/json", {}).get("example")
            if found is not None and "pagination" in found:
                return {**found, "pagination": {"next_cursor": None, "has_more": False}}
            return found
    return None


def test_an_enum_accepts_values_that_come_later():
    from stead_sdk import types

    site = types.Site({"id": "site_1", "status": "teleporting", "new_field": {"a": 1}})
    assert site.status == "teleporting"
    assert site["new_field"] == {"a": 1}
    assert site.domain is None
    assert isinstance(Stead("k", base_url="http://x"), Stead)
