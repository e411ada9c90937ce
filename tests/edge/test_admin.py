"""The admin socket: access, refused requests, and the state that it reports."""

import os

import msgspec
import pytest

from stead.edge.admin import AdminFailed
from stead.protocol.edge_records import RecordLine
from tests.edge.edge_harness import EdgeHarness, start_edge


async def test_the_state_has_the_revision_and_the_number_of_hosts(edge: EdgeHarness) -> None:
    before = await edge.admin.state()
    await edge.site("one.test", "one", {"index.html": ""})
    answer = await edge.tell("host", "two.test", {"environment": "env_one"})
    state = await edge.admin.state()
    assert (state.hosts - before.hosts, state.revision) == (2, answer.revision)
    assert state.instance == answer.instance == before.instance
    assert set(state.free) >= {"records", "redirects", "certificates", "purges"}
    assert state.complete is False
    await edge.admin.complete()
    assert (await edge.admin.state()).complete is True
    await edge.tell("host", "two.test", None)
    await edge.tell("host", "two.test", None)
    assert (await edge.admin.state()).hosts == before.hosts + 1


async def test_only_the_node_can_reach_the_admin_socket(edge: EdgeHarness) -> None:
    mode = edge.run.stat().st_mode & 0o777
    assert mode & 0o007 == 0
    assert mode & 0o020 == 0
    assert (edge.run / "private").stat().st_mode & 0o777 == 0o700
    assert (edge.run / "private").stat().st_uid == os.geteuid()
    for path in ("/apply", "/state", "/complete"):
        answer = await edge.get("one.test", path, method="POST", content=b"{}")
        assert answer.status_code in {404, 405, 503}


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b'{"kind":"nothing","name":"x","revision":1,"value":{}}',
        b'{"kind":"host","name":5,"revision":1,"value":{}}',
        b'{"kind":"host","name":"x","revision":"1","value":{}}',
        b'{"kind":"host","name":"x","revision":1,"value":"text"}',
        b'{"kind":"redirects","name":"s.0","revision":99999,"value":{"version":7}}',
        b'{"kind":"purge","name":"e.all","revision":99999,"value":{}}',
    ],
)
async def test_a_malformed_line_is_refused(edge: EdgeHarness, line: bytes) -> None:
    with pytest.raises(AdminFailed, match="400"):
        await edge.admin._request("POST", "/apply", line)
    assert (await edge.admin.state()).revision < 99999


async def test_many_lines_can_be_applied_in_one_request(edge: EdgeHarness) -> None:
    lines = [edge.line("host", f"many{n}.test", {"environment": "env_" + "x" * 60}) for n in range(5000)]
    before = (await edge.admin.state()).hosts
    answer = await edge.admin.apply(lines)
    assert answer.revision == lines[-1].revision
    assert (await edge.admin.state()).hosts - before == 5000
    await edge.admin.apply(
        msgspec.structs.replace(line, value=None, revision=line.revision + 5000) for line in lines
    )
    assert (await edge.admin.state()).hosts == before
    for _ in range(5000):
        next(edge.revisions)


async def fill(small: EdgeHarness) -> list[str]:
    """The names of the memories that were full."""
    full: list[str] = []
    for batch in range(100):
        answer = await small.admin.apply(
            RecordLine("host", f"h{batch}-{n}.test", next(small.revisions), {"environment": "env_first"})
            for n in range(500)
        )
        full += [each.dict for each in answer.skipped]
    return full


async def test_a_full_memory_is_named_and_loses_no_record() -> None:
    async with start_edge(STEAD_EDGE_MEMORY_RECORDS="1") as small:
        await small.site("first.test", "first", {"index.html": "first"})
        assert set(await fill(small)) == {"records"}
        assert (await small.get("first.test")).text == "first"
        assert (await small.get("h0-0.test")).text == "first"


async def test_a_record_that_does_not_fit_does_not_block_the_next() -> None:
    async with start_edge(STEAD_EDGE_MEMORY_RECORDS="1") as small:
        await small.site("first.test", "first", {"index.html": "first"})
        await fill(small)
        large = {"site": "site_large", "node": small.node, "reason": "x" * 50_000}
        lines = [
            small.line("environment", "env_large", large),
            small.line("host", "h0-0.test", None),
            small.line("purge", "env_first.all", {"environment": "env_first"}),
        ]
        answer = await small.admin.apply(lines)
        assert [(each.line, each.dict) for each in answer.skipped] == [(1, "records")]
        assert answer.revision == lines[-1].revision
        assert (await small.get("h0-0.test")).status_code != 200
