"""A day under steady load, with a slow SMTP server, outages of the object store and tasks that raise.

Afterwards every queue is empty, nothing was sent twice, the metrics were right at every half hour, and what
is kept only for a time has been removed. Only the clock of the control plane is simulated (`day.py`).
"""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from stead.control.metrics import WORKER
from stead.dev.certificate_authority import CertificateAuthority
from tests.conftest import FIGURE
from tests.faults.jobs.programs import until
from tests.patience import Patience
from tests.receiver import ReceivedRequest, http_response
from tests.robustness.day import STEP, Day, simulated_day
from tests.robustness.load import Customers

STEPS = int(timedelta(days=1) / STEP)
OUTAGES = {9: 2, 30: 3}
"""The steps at which the object store becomes unreachable, and for how many steps."""
UNSTEADY = range(16, 20)
"""The steps in which one of the receivers answers 503."""
REFUSING = {5, 22, 23}
"""The steps in which the SMTP server refuses a letter."""
SLOW_SECONDS = 0.3
PUSH_EVERY = 3
AGE_TOLERANCE = 3.0
SHRINKING = {
    "outgoing_mail": ("created_at", timedelta()),
    "idempotency_records": ("created_at", timedelta(days=2)),
    "sent_emails": ("sent_at", timedelta(days=2)),
    "events": ("created_at", timedelta(days=31)),
    "webhook_deliveries": ("created_at", timedelta(days=31)),
    "hook_deliveries": ("heard_at", timedelta(days=31)),
    "notifications": ("created_at", timedelta(days=91)),
}
"""The time of a row, and when none of the day may be left in the table, counted from its end."""


@pytest.fixture
async def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Day]:
    authority = CertificateAuthority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root_file))
    data = _new_directory()
    try:
        async with simulated_day(data, authority) as started:
            yield started
    finally:
        await asyncio.to_thread(shutil.rmtree, data, ignore_errors=True)


def _new_directory() -> Path:
    # Not a temporary directory of pytest: PostgreSQL's user could not enter it.
    data = Path(tempfile.mkdtemp(prefix="stead-day-"))
    data.chmod(0o711)
    return data


@pytest.mark.timeout(1200)
async def test_a_day_of_steady_load_leaves_nothing_behind(
    day: Day, record_property: Callable[[str, object], None]
) -> None:
    before = Counters.read()
    customers = await Customers.arrive(day)
    day.sink.seconds = SLOW_SECONDS
    outage_ends = -1
    for step in range(STEPS):
        if step in OUTAGES:
            day.objects.interrupt()
            outage_ends = step + OUTAGES[step]
        if step == outage_ends:
            day.objects.restore()
        if step in REFUSING:
            day.sink.refusals.append("451 later")
        day.receivers["unsteady"].respond = _unavailable if step in UNSTEADY else _accept
        await _make_load(customers, step)
        if day.objects.is_up:
            await day.wait_until_idle()
        else:
            await day.wait_until_idle(except_site=customers.pushed_site)
        await _check_metrics(day, before)
        await day.move_clock()
    await day.wait_until_idle()
    assert day.objects.refused > 0, "the outages had no effect"
    await _wait_for_retries(day)
    await _check_metrics(day, before)
    await _check_that_all_was_sent_once(day, customers)
    await _check_tasks(day)
    await _check_the_last_push(day, customers)
    await _check_that_tables_shrink(day)
    jobs = await day.value("select count(*) from jobs")
    accepted = sum(len(each.requests) for each in day.receivers.values())
    record_property(
        FIGURE, f"a day: {jobs} jobs, {accepted} webhook requests, {len(day.sink.letters)} emails"
    )


async def _make_load(customers: Customers, step: int) -> None:
    await customers.restart(step)
    await customers.invite(step)
    if step % PUSH_EVERY == 0:
        await customers.push(step)


async def _accept(_: ReceivedRequest) -> bytes:
    return http_response()


async def _unavailable(_: ReceivedRequest) -> bytes:
    return http_response(503)


class Counters:
    """The counters of the worker. Other tests of the same process may have increased them before."""

    NAMES = ("stead_jobs_ended_total", "stead_mail_attempts_total", "stead_webhook_attempts_total")

    @classmethod
    def read(cls) -> Counter[tuple[str, str]]:
        """By the name of the counter and its last label: the code or the outcome."""
        found: Counter[tuple[str, str]] = Counter()
        for family in WORKER.registry.collect():
            for sample in family.samples:
                if sample.name in cls.NAMES:
                    last = sample.labels.get("code") or sample.labels["outcome"]
                    found[sample.name, last] += int(sample.value)
        return found


async def _check_metrics(day: Day, before: Counter[tuple[str, str]]) -> None:
    """Compare the metrics with what the database, the SMTP server and the receivers say."""
    patience = Patience(20)
    while True:
        await day.worker.measure()
        shown, true = {**_gauges(), **_counts(before)}, {**await _queues(day), **await _events(day)}
        # Jobs may change while this reads, but not all the time.
        if shown == true or patience.is_over:
            break
        await asyncio.sleep(0.1)
    assert shown == true
    await _check_ages(day)


def _gauges() -> dict[str, float]:
    return {
        "jobs waiting": _sum("stead_jobs_waiting"),
        "jobs running": _sum("stead_jobs_running"),
        "events": _sum("stead_events_waiting"),
        "deliveries": _sum("stead_webhook_deliveries_waiting"),
        "mail": _sum("stead_mail_waiting"),
    }


def _counts(before: Counter[tuple[str, str]]) -> dict[str, object]:
    since = Counters.read()
    since.subtract(before)
    return {
        "jobs ended": {code: number for (name, code), number in since.items() if "jobs" in name and number},
        "emails sent": since["stead_mail_attempts_total", "sent"],
        "emails refused": since["stead_mail_attempts_total", "failed"],
        "delivered": since["stead_webhook_attempts_total", "delivered"],
        "refused": since["stead_webhook_attempts_total", "pending"],
    }


async def _queues(day: Day) -> dict[str, float]:
    queries = {
        "jobs waiting": "select count(*) from jobs where status = 'queued'",
        "jobs running": "select count(*) from jobs where status = 'running'",
        "events": "select count(*) from events where position is null",
        "deliveries": "select count(*) from webhook_deliveries where status = 'pending'",
        "mail": "select count(*) from outgoing_mail",
    }
    return {what: float(await day.value(sql)) for what, sql in queries.items()}


async def _events(day: Day) -> dict[str, object]:
    """What has happened since the morning."""
    ended = await day.rows(
        "select coalesce(error ->> 'code', 'done'), count(*) from jobs"
        " where status in ('succeeded', 'failed') group by 1"
    )
    delivered = await day.value("select count(*) from webhook_deliveries where status = 'delivered'")
    attempts = sum(len(receiver.requests) for receiver in day.receivers.values())
    return {
        "jobs ended": dict(ended),
        "emails sent": len(day.sink.letters),
        "emails refused": day.sink.tried - len(day.sink.letters),
        "delivered": delivered,
        "refused": attempts - delivered,
    }


async def _check_ages(day: Day) -> None:
    """A job that waits for the object store gets older with the clock, and so does mail that was refused."""
    oldest = await day.value("select min(dispatched_at) from jobs where status = 'running'")
    if oldest is not None:
        age = (day.clock() - oldest).total_seconds()
        shown = max(_values("stead_jobs_oldest_running_seconds"))
        assert shown == pytest.approx(age, abs=AGE_TOLERANCE)
    mail = await day.value("select min(created_at) from outgoing_mail")
    if mail is not None:
        age = (day.clock() - mail).total_seconds()
        assert _sum("stead_mail_oldest_seconds") == pytest.approx(age, abs=AGE_TOLERANCE)
    assert _sum("stead_webhook_deliveries_oldest_due_seconds") < AGE_TOLERANCE
    assert max(_values("stead_node_silent_seconds")) < AGE_TOLERANCE


def _values(name: str) -> list[float]:
    return [
        sample.value
        for family in WORKER.registry.collect()
        for sample in family.samples
        if sample.name == name
    ]


def _sum(name: str) -> float:
    return sum(_values(name))


async def _wait_for_retries(day: Day) -> None:
    """Deliveries to the unsteady receiver may still wait for their next attempt."""
    for _ in range(STEPS):
        if not await day.value("select count(*) from webhook_deliveries where status = 'pending'"):
            break
        await day.move_clock()
        await day.wait_until_sent()
    await day.wait_until_idle()


async def _check_that_all_was_sent_once(day: Day, customers: Customers) -> None:
    assert set((await _queues(day)).values()) == {0.0}
    letters = Counter(str(letter.message["message-id"]) for letter in day.sink.letters)
    assert set(letters.values()) == {1}
    recipients = Counter(address for letter in day.sink.letters for address in letter.recipients)
    assert {address: recipients[address] for address in customers.invited} == dict.fromkeys(
        customers.invited, 1
    )
    rows = await day.rows("select id, attempts from webhook_deliveries where status = 'delivered'")
    assert len(rows) == await day.value("select count(*) from webhook_deliveries")
    received = Counter(each.delivery_id for receiver in day.receivers.values() for each in receiver.requests)
    # An attempt that was refused is repeated; one that was accepted is the last.
    assert dict(received) == dict(rows)
    steady = Counter(each.delivery_id for each in day.receivers["steady"].requests)
    assert set(steady.values()) == {1}
    assert max(received.values()) > 1, "the unsteady receiver refused nothing"


async def _check_tasks(day: Day) -> None:
    """Every failure was counted, and nothing but the task that always fails is failing now."""
    for task, raised in day.faulty.raised.items():
        assert raised > 2
        counted = WORKER.value("stead_task_failures_total", task=task)
        assert counted is not None
        assert counted == pytest.approx(raised, abs=1)

    async def recovered() -> bool:
        return day.worker._tasks.failing.keys() <= day.faulty.raised.keys()

    await until(recovered, "the other tasks have recovered")
    assert WORKER.value("stead_task_failing", task="faulty.always") == 1


async def _check_the_last_push(day: Day, customers: Customers) -> None:
    commit = await day.value(
        "select b.commit from builds b where b.site_id = $1 and b.status = 'succeeded'"
        " order by b.id desc limit 1",
        customers.pushed_site,
    )
    assert commit == customers.last_commit
    assert not await day.value("select count(*) from pushes where taken < serial or not settled")


async def _check_that_tables_shrink(day: Day) -> None:
    ended, passed = day.clock(), timedelta()
    for table in ("idempotency_records", "events", "webhook_deliveries", "hook_deliveries"):
        assert await day.value(f"select count(*) from {table}"), table
    for table, (column, after) in SHRINKING.items():
        if after > passed:
            await day.move_clock(after - passed)
            passed = after
        # Removing something may have caused a new event.
        left = f"select not exists (select from {table} where {column} < $1)"
        await until(day.value, f"{table} has been emptied", left, ended, bound=30)
