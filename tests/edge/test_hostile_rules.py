"""Rule files that are made to cost as much as possible, and to show what is never served."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.artifacts.precompression import add_compressed_files
from stead.artifacts.site_rules import compiler, headers_file, redirects_file
from stead.artifacts.site_rules.compiler import check_rules, compile_rules, read_rules
from stead.artifacts.site_rules.rules import SiteRules
from tests.edge.edge_harness import EdgeHarness
from tests.edge.release_rules import install_rules
from tests.edge.test_lua_site_rules import LUA, RULES, to_lua

LARGE_RELEASES, NEIGHBOURS = 10, 12
MIN_LARGE_BYTES = 1_500_000
WORKERS = 2
READ_AT_ONCE = 4
"""As many of the large files are at most as large as what a site may have read at once."""


def large_redirects() -> str:
    """Each line is a branch of its own in the tree, with as many segments as possible."""
    rest = "/" + "/".join("abcdefghijklmnopqrstuvwxyz")
    return "".join(f"/{number}{rest}/* /x 302\n" for number in range(5000))


async def add(edge: EdgeHarness, host: str, site: str, files: dict[str, str | bytes]) -> None:
    """A release of a site, at a host of its own, as a permanent URL is."""
    name = host.removesuffix(".test")
    release = edge.release(f"rel-{name}", files)
    install_rules(edge, release)
    await edge.site(host, name, None, release=release, site=site)


async def test_a_site_with_many_large_releases_does_not_keep_others_from_their_rules(
    edge: EdgeHarness,
) -> None:
    hosts = [f"hostile{number}.test" for number in range(LARGE_RELEASES)]
    large = compiled("_redirects", large_redirects()) or b""
    assert len(large) > MIN_LARGE_BYTES
    for number, host in enumerate(hosts):
        await add(edge, host, "site_hostile", {"index.html": "x", "_redirects": "/a /b\n"})
        (edge.data / "release-rules" / f"rel-hostile{number}.json").write_bytes(large)
    for number in range(NEIGHBOURS):
        await add(edge, f"plain{number}.test", f"site_plain{number}", {"index.html": "plain"})
        await add(edge, f"ruled{number}.test", f"site_ruled{number}", {"_redirects": "/a /b 302\n"})

    async def attack() -> list[str | None]:
        answers = [await edge.get(host, "/") for host in hosts * 3]
        return [answer.headers.get("x-stead-reason") for answer in answers]

    attacks = asyncio.gather(attack(), attack())
    for number in range(NEIGHBOURS):
        assert (await edge.get(f"plain{number}.test", "/")).text == "plain"
        assert (await edge.get(f"ruled{number}.test", "/a")).headers["location"] == "/b"
    reasons = [reason for reasons in await attacks for reason in reasons]
    assert set(reasons) == {None, "busy"}
    assert reasons.count(None) <= len(reasons) * READ_AT_ONCE * WORKERS / LARGE_RELEASES


@pytest.mark.parametrize("status", [404, 410])
async def test_a_page_for_what_is_missing_is_neither_hidden_nor_a_rule_file(
    edge: EdgeHarness, status: int
) -> None:
    rules = f"/own/* /sorry.html {status}\n/x/* /:splat {status}\n"
    files: dict[str, str | bytes] = {"sorry.html": "sorry", ".env": "secret", "_redirects": rules}
    await add(edge, f"missing{status}.test", "site_missing", {**files, ".git/config": "secret"})
    host = f"missing{status}.test"
    for path in ("/x/.env", "/x/.git/config", "/x/_redirects", "/x/%2eenv", "/x/a/../.env"):
        answer = await edge.get(host, path)
        assert answer.status_code in (404, 410), path
        assert "secret" not in answer.text
        assert "sorry.html" not in answer.text
    assert (await edge.get(host, "/own/page")).text == "sorry"


async def test_no_compressed_copy_of_a_rule_file_is_served(edge: EdgeHarness) -> None:
    settings = msgspec.json.encode({"redirects": [{"from": f"/{at}", "to": "/x"} for at in range(200)]})
    files: dict[str, str | bytes] = {"index.html": "home", "stead.json": settings, "a/stead.json": settings}
    await add(edge, "copies.test", "site_copies", files)
    release = edge.data / "releases" / "rel-copies"
    (release / "_headers.gz").write_bytes(b"brought along")
    assert add_compressed_files(release) == 1, "only the one that is an ordinary file"
    (release / "stead.json.br").write_bytes(b"brought along")
    for path in ("/stead.json", "/stead.json.br", "/stead.json.gz", "/_headers.gz", "/_redirects.br"):
        assert (await edge.get("copies.test", path)).status_code == 404
    assert (await edge.get("copies.test", "/a/stead.json")).status_code == 200


def test_the_query_is_read_once_however_many_rules_ask_for_it() -> None:
    lines = [f"{'/a' * depth}/* q={at} /x 302" for depth in range(1, 30) for at in range(10)]
    document = to_lua(msgspec.json.decode(compiled("_redirects", "\n".join(lines)) or b""))
    asked: list[int] = []

    def get_args() -> Any:
        asked.append(1)
        return to_lua({"q": "none"})

    assert RULES.find(document, b"/a" * 29, False, get_args) in (None, (None, None))
    assert len(asked) == 1


def test_rules_for_one_path_are_limited_with_a_warning(tmp_path: Path) -> None:
    """Also headers that are only removed, which no response has."""
    (tmp_path / "_headers").write_text("".join("/*\n" + "  ! X-A\n" * 20 for _ in range(900)))
    (tmp_path / "_redirects").write_text("".join(f"/a q={at} /x\n" for at in range(12)))
    rules = read_rules(tmp_path)
    assert [len(rules.headers), len(rules.redirects)] == [3, 10]
    assert rules.warnings == [
        "rules: a path has at most 10 redirects; the rest is ignored",
        "rules: a path has at most 60 headers; the rest is ignored",
    ]


def test_rules_that_are_too_large_together_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_redirects").write_text(large_redirects())
    assert check_rules(tmp_path).warnings == []
    monkeypatch.setattr(compiler, "MAX_COMPILED_BYTES", 1 << 20)
    assert check_rules(tmp_path).warnings == [
        "rules: they need more than 1 MB together, so all of them are ignored"
    ]


def test_what_a_worker_remembers_of_headers_is_limited_for_all_releases() -> None:
    """400 releases with ten sets of rules, which say 8 KB each."""
    collect = LUA.eval(b'function() collectgarbage() return collectgarbage("count") end')
    text = f"/*\n  X-A: {'a' * 3900}\n" + "".join(f"/{at}\n  X-A: {at}{'b' * 3900}\n" for at in range(10))
    documents = [to_lua(msgspec.json.decode(compiled("_headers", text) or b"")) for _ in range(400)]
    before = collect()
    for number, document in enumerate(documents):
        for at in range(10):
            # Of each release another one: equal text would be kept once.
            document[b"headers"][b"rules"][1][1][2] = f"{number}{'a' * 3900}".encode()
            decision = RULES.decide(document, f"/{at}".encode(), None)[0]
            assert len(decision[b"headers"][2]) > 7000
    assert collect() - before < 20 * 1024, "in kilobytes"


def compiled(name: str, text: str) -> bytes | None:
    rules = SiteRules()
    read = {"_redirects": redirects_file.read, "_headers": headers_file.read}[name]
    read(text, rules)
    return compile_rules(rules)
