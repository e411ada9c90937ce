"""The responses in `docs/insights-examples.md` are real ones.

`STEAD_WRITE_EXAMPLES=1` writes the page again. Ids and times are replaced by fixed ones, and buckets without
anything are left out.
"""

import os
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.control.app import ControlPlane
from stead.control.insights.operations import operation as operations
from stead.control.insights.storage import record_today
from stead.node.telemetry.spool import NewRows
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import (
    TRACE,
    chunk_with,
    ledger_line,
    log_chunk_of,
    span_chunk_of,
    stamp,
    vitals_chunk_of,
)
from tests.control.served_site import ServedSite
from tests.teams import insert_team

PAGE = Path(__file__).parents[3] / "docs" / "insights-examples.md"
SHOWN_AT = datetime(2026, 11, 16, 11, tzinfo=UTC)
HALF_A_DAY = 43_200
"""Every length of a bucket is a part of it, so times can be moved by it."""
QUERIES = {
    "metrics.series": "?name=requests",
    "insights.pages": "?days=7",
    "insights.resources": "?hours=24",
}
"""What happens is up to 13 hours ago."""
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_SECTION = re.compile(
    r"## `(?P<id>[a-z_.]+)`\n\n`GET (?P<path>\S+)`\n\n```json\n(?P<json>.*?)\n```\n", re.DOTALL
)
VIEWS = [each for each in operations if not each.id.endswith("_of_environment")]
"""Those of environments have the same responses."""


class Example:
    """Something has happened to a site of a team, at a time that can be moved to `SHOWN_AT`."""

    def __init__(self, site: ServedSite, team: str) -> None:
        self.site, self.team = site, team
        self.at = int(time.time()) // HALF_A_DAY * HALF_A_DAY - 3600

    @property
    def ago(self) -> float:
        return time.time() - self.at

    async def record(self, pipeline: Pipeline) -> None:
        env = self.site.env
        visits = [
            ledger_line(env, ts=self.at + 4.25, path="/", bytes_out=20480, cache="HIT", time=0.012),
            ledger_line(env, ts=self.at + 9.5, path="/shop/", status=502, bytes_out=1200, time=1.25),
        ]
        await pipeline.record(*visits)
        php = f"{stamp(self.ago - 10)} PHP Warning:  Undefined variable $price\n"
        await pipeline.deliver(*log_chunk_of(env, php))
        values = ["LCP=1840.0000;CLS=0.0200"] * 40 + ["LCP=2600.0000;CLS=0.1200"] * 20
        await pipeline.deliver(*vitals_chunk_of(env, *values, path="/shop/", seconds_ago=self.ago))
        await pipeline.deliver(*span_chunk_of(env, visits[1]))
        used = NewRows("resources")
        for seconds, cpu_ms in ((0, 6000), (30, 9000)):
            moment = self.at + seconds
            row = f"{moment:014.3f}\tphp\t{cpu_ms}\t30000\t83886080\t268435456\n"
            used.add(env, moment, row.encode())
        content = used.compress()
        await pipeline.deliver(chunk_with(content, used), content)
        await pipeline.insert_and_check()

    def address(self, id_: str, path: str) -> str:
        path = path.replace("{site_id}", self.site.id).replace("{team_id}", self.team)
        return path.replace("{trace_id}", TRACE) + QUERIES.get(id_, "")

    def show(self, text: str) -> str:
        """With fixed ids and times."""
        for id_, shown in (
            (self.site.id, "site_01k9zy3v7d00r3m8w5x2t6b4qa"),
            (self.team, "team_01k9zy3v7d00r3m8w5x2t6b4qa"),
        ):
            text = text.replace(id_, shown)
        moved = SHOWN_AT - datetime.fromtimestamp(self.at, UTC)
        return _TIME.sub(lambda found: _render(datetime.fromisoformat(found[0]) + moved), text)


def _render(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def shorten(data: Any) -> Any:
    """Without what depends on the time of the test, and without empty buckets."""
    if isinstance(data, list):
        return [shorten(each) for each in data if not _is_empty_bucket(each)]
    if not isinstance(data, dict):
        return data
    fixed = {"as_of": "2026-11-16T11:10:00Z", "date": "2026-11-16"}
    return {name: fixed[name] if name in fixed and value else shorten(value) for name, value in data.items()}


def _is_empty_bucket(value: Any) -> bool:
    return isinstance(value, dict) and "ts" in value and 0 in (value.get("requests"), value.get("lines"))


@pytest.fixture
async def example(plane: ControlPlane, pipeline: Pipeline, site: ServedSite) -> Example:
    async with plane.database.transaction() as tx:
        await tx.run(
            "update environment_placements set since = now() - interval '3 days' where env_id = $1", site.env
        )
        team = await insert_team(tx, site.person.id)
        await tx.run("update sites set team_id = $2, account_id = null where id = $1", site.id, team)
    example = Example(site, team)
    await example.record(pipeline)
    await record_today(plane.database)
    return example


async def test_the_documented_example_of_each_view_is_a_real_response(example: Example) -> None:
    sections, session = {}, example.site.person.session
    for view in VIEWS:
        path = example.address(view.id, view.path)
        response = await session.get(path)
        assert response.status_code == 200, response.text
        data = {"data": shorten(msgspec.json.decode(example.show(response.text))["data"])}
        sections[view.id] = (example.show(path), data)
    if os.environ.get("STEAD_WRITE_EXAMPLES"):
        write(sections)
    documented = {
        found["id"]: (found["path"], msgspec.json.decode(found["json"]))
        for found in _SECTION.finditer(PAGE.read_text())
    }
    assert documented == sections


def test_moving_times_keeps_their_distance() -> None:
    assert SHOWN_AT.timestamp() % HALF_A_DAY == HALF_A_DAY - 3600
    assert _render(SHOWN_AT + timedelta(milliseconds=5)) == "2026-11-16T11:00:00.005000Z"


def write(sections: dict[str, tuple[str, Any]]) -> None:
    parts = [
        "# Examples of insights\n\n",
        "What each view of [insights](insights.md) answers: two requests, a log line, and what 60 visitors\n",
        "and a container have measured. Buckets without anything are left out. A test compares this page\n",
        "with real responses (`tests/control/insights/test_examples.py`).\n",
    ]
    for id_, (path, data) in sections.items():
        text = msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
        parts.append(f"\n## `{id_}`\n\n`GET {path}`\n\n```json\n{text}\n```\n")
    PAGE.write_text("".join(parts))
