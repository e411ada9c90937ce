"""What browsers send counts only together with a page view."""

from collections.abc import Callable

import pytest
from msgspec import structs

from stead.node.telemetry.ledger_rows import LedgerLine, read_line
from stead.node.telemetry.page_views import (
    MAX_MEASURED,
    MAX_OTHERS_EACH,
    MEASURED_SECONDS,
    PageView,
    PageViews,
)
from stead.node.telemetry.vitals import Vitals
from stead.node.visits import VITALS_PATH
from tests.control.insights.recorded import TRACE, ledger_line

VALUES = f"{TRACE};LCP=1200.0000;CLS=0.0100"


def visit(environment: str = "env_1", **wanted: object) -> LedgerLine:
    found = read_line(ledger_line(environment, **wanted))
    assert found is not None
    return found


def message(environment: str = "env_1", values: str = VALUES) -> LedgerLine:
    return visit(environment, path=VITALS_PATH, method="POST", status=204, vitals=values)


def test_a_page_view_is_measured_once() -> None:
    vitals = Vitals()
    vitals.add_page_view(visit(path="/blog", release="dep_1"))
    for _ in range(100):
        vitals.receive(message())
    rows = vitals.take_rows()
    assert rows.count == 2
    content = rows._rows["env_1"]
    assert [row.decode().split("\t")[1:] for row in content] == [
        ["dep_1", "/blog", "desktop", "LCP", "1200.0000\n"],
        ["dep_1", "/blog", "desktop", "CLS", "0.0100\n"],
    ]
    assert vitals.take_rows().count == 0
    assert vitals.refused == 99


def test_messages_without_a_page_view_of_the_same_environment_do_not_count() -> None:
    vitals = Vitals()
    vitals.add_page_view(visit("env_2"))
    vitals.add_page_view(visit(status=500))
    vitals.add_page_view(visit(path="/image.png"))
    vitals.add_page_view(visit(method="POST"))
    vitals.receive(message())
    assert vitals.take_rows().count == 0


def test_a_page_view_that_is_written_after_its_message_counts() -> None:
    vitals = Vitals()
    vitals.receive(message())
    assert vitals.take_rows().count == 0
    vitals.add_page_view(visit())
    assert vitals.take_rows().count == 2


@pytest.mark.parametrize(
    "values", ["", TRACE, f"{TRACE};LCP=1", f"{TRACE};XYZ=1.0000", f"{TRACE};LCP=1.0000\tx", "x" * 500]
)
def test_a_malformed_message_does_not_count(values: str) -> None:
    vitals = Vitals()
    vitals.add_page_view(visit())
    vitals.receive(message(values=values))
    assert vitals.take_rows().count == 0


def test_the_number_of_remembered_page_views_is_bounded() -> None:
    vitals, line = Vitals(), visit()
    vitals.add_page_view(line)
    vitals.receive(message())
    assert vitals.take_rows().count == 2, "the environment is measured"
    vitals.add_page_view(line)
    for number in range(MAX_MEASURED):
        vitals.add_page_view(structs.replace(line, trace=f"{number:032x}"))
    vitals.receive(message())
    assert vitals.take_rows().count == 0, "the oldest one is forgotten"
    vitals.receive(message(values=f"{1:032x};LCP=1.0000"))
    assert vitals.take_rows().count == 1


PERSON, BOT = PageView("", "/", "desktop"), PageView("", "/", "bot")


def measured(*environments: str, clock: Callable[[], float] = lambda: 0.0) -> PageViews:
    views = PageViews(clock)
    for environment in environments:
        views.add(environment, "first", PERSON)
        assert views.take(environment, "first") == PERSON
    return views


def test_a_flooded_site_takes_no_room_from_others() -> None:
    quiet = [f"env_{number}" for number in range(200)]
    views = measured("env_flooded", *quiet)
    for number in range(MAX_MEASURED):
        views.add("env_flooded", f"before {number}", PERSON)
    for environment in quiet:
        for number in range(400):
            views.add(environment, f"{number}", PERSON)
    for number in range(MAX_MEASURED):
        views.add("env_flooded", f"after {number}", PERSON)
    for environment in quiet:
        assert all(views.take(environment, f"{number}") for number in range(400)), environment
    kept = sum(views.take("env_flooded", f"after {number}") is not None for number in range(MAX_MEASURED))
    assert kept == MAX_MEASURED - 200 * 400


def test_sites_without_measurements_and_bots_have_little_room() -> None:
    now = 0.0
    views = measured("env_1", clock=lambda: now)
    for number in range(1_000):
        views.add("env_1", f"person {number}", PERSON)
        views.add("env_1", f"bot {number}", BOT)
        views.add("env_2", f"{number}", PERSON)
    assert sum(views.take("env_1", f"person {number}") is not None for number in range(1_000)) == 1_000
    assert sum(views.take("env_1", f"bot {number}") is not None for number in range(1_000)) == MAX_OTHERS_EACH
    found = [number for number in range(1_000) if views.take("env_2", f"{number}")]
    assert found == list(range(1_000 - MAX_OTHERS_EACH, 1_000)), "the newest, so that measuring can begin"
    now += MEASURED_SECONDS + 1
    for number in range(1_000):
        views.add("env_1", f"{number}", PERSON)
    assert sum(views.take("env_1", f"{number}") is not None for number in range(1_000)) == MAX_OTHERS_EACH


def test_forged_messages_change_nothing() -> None:
    """100,000 of them, beside 1,000 real visits."""
    vitals, line = Vitals(), visit()
    vitals.add_page_view(line)
    vitals.receive(message())
    assert vitals.take_rows().count == 2, "the environment is measured"
    real = [f"{number:032x}" for number in range(1_000)]
    for trace in real:
        vitals.add_page_view(structs.replace(line, trace=trace))
    forged = message(values=f"{TRACE};LCP=60000.0000")
    kept: list[bytes] = []
    for number, trace in enumerate(real):
        vitals.receive(message(values=f"{trace};LCP={1000 + number}.0000"))
        for attempt in range(100):
            name = f"{number + 1000:016x}{attempt:016x}" if attempt else real[max(number - 1, 0)]
            vitals.receive(structs.replace(forged, vitals=f"{name};LCP=60000.0000"))
        kept += vitals.take_rows()._rows.get("env_1", [])
    values = sorted(float(row.rsplit(b"\t", 1)[1]) for row in kept)
    assert values == [1000.0 + number for number in range(1_000)]
