# ruff: noqa: E501 - PHP in one line is easier to read
"""The platform runs the scheduled events of WordPress, also while a site sleeps, and no site waits for another."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from stead.node.wordpress import cron_runner, fastcgi_client
from stead.node.wordpress.agent_socket import CronTimes
from stead.node.wordpress.cron_schedule import (
    ASLEEP_SECONDS,
    EVERY_SECONDS,
    JITTER_SECONDS,
    UNKNOWN_SECONDS,
    CronSchedule,
    CronState,
)
from stead.node.wordpress.paths import EnvironmentPaths
from tests.node.harness import until
from tests.node.wordpress.wordpress_node import Site, WordPressNode

LOAD = 'require "/srv/site/wp-load.php";'
EVENTS = """<?php
add_action("write", function ($name) { file_put_contents("/srv/site/wp-content/uploads/$name", time() . "\\n", FILE_APPEND); });
add_action("throw", function () { throw new Exception("an event of mine failed"); });
add_action("end", function () { exit("gone"); });
add_action("hang", function () { sleep(6); });
add_filter("cron_schedules", fn($all) => $all + ["odd" => ["interval" => DAY_IN_SECONDS + 0.5, "display" => "Odd"], "broken" => ["interval" => 0.5, "display" => "Broken"]]);
add_filter("pre_http_request", fn() => new WP_Error("offline", "no network here"));
"""
PATIENCE = 60.0


@pytest.fixture(scope="module")
async def site(node: WordPressNode) -> AsyncIterator[Site]:
    made = await make(node)
    yield made
    await node.remove(made)


async def make(node: WordPressNode) -> Site:
    made = await node.create()
    plugins = made.paths.content / "mu-plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "events.php").write_text(EVENTS)
    await until_quiet(made)
    # The events that every WordPress has are not of interest here.
    await made.run_php(f'{LOAD} update_option("cron", ["version" => 2]);')
    return made


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute is a second here."""
    monkeypatch.setattr("stead.node.wordpress.cron_schedule.EVERY_SECONDS", 1.0)
    monkeypatch.setattr("stead.node.wordpress.cron_schedule.JITTER_SECONDS", 0.1)
    monkeypatch.setattr(cron_runner, "TICK_SECONDS", 0.2)


async def schedule(site: Site, hook: str, *arguments: str, seconds: int = 0) -> None:
    quoted = ", ".join(f'"{each}"' for each in arguments)
    await site.run_php(f'{LOAD} wp_schedule_single_event(time() + {seconds}, "{hook}", [{quoted}]);')


async def written(site: Site, name: str) -> list[int]:
    file = site.paths.content / "uploads" / name

    async def look() -> list[int] | None:
        return [int(line) for line in file.read_text().split()] if file.exists() else None

    return await until(look, PATIENCE)


def stored_events(site: Site) -> str:
    return str(site.query("select option_value from {schema}.wp_options where option_name = 'cron'"))


async def test_an_event_is_run_once_when_it_is_due(site: Site):
    began = time.time()
    await schedule(site, "write", "later", seconds=3600)
    await schedule(site, "write", "soon", seconds=3)
    (moment,) = await written(site, "soon")
    assert moment >= began + 2
    await schedule(site, "write", "second")
    await written(site, "second")
    assert len(await written(site, "soon")) == 1
    assert not (site.paths.content / "uploads" / "later").exists()


@pytest.mark.parametrize("schedule", ["daily", "odd"])
async def test_a_repeated_event_is_not_lost_when_it_is_run_in_the_second_in_which_it_was_created(
    site: Site, schedule: str
):
    """Run as WP-CLI does, which removes it at its old time: that is its new time, too."""
    event = f'"write", ["{schedule}"]'
    left = await site.run_php(
        f"{LOAD} while (fmod(microtime(true), 1) > 0.2) {{ usleep(1000); }}"
        f' wp_schedule_event(time() + DAY_IN_SECONDS, "{schedule}", {event});'
        f" for ($n = 0; $n < 4; $n++) {{ $time = wp_next_scheduled({event});"
        f' wp_reschedule_event($time, "{schedule}", {event}); wp_unschedule_event($time, {event}); }}'
        f" $left = wp_next_scheduled({event}) - time() - DAY_IN_SECONDS; wp_clear_scheduled_hook({event}); echo $left;"
    )
    assert -5 <= int(left) <= 5


async def test_a_sleeping_site_is_woken_for_its_event_and_not_before(site: Site):
    due = int(time.time()) + 6
    await schedule(site, "write", "asleep", seconds=6)
    await site.hosted.sleep()

    async def is_due() -> bool | None:
        state = site.hosted.state
        if time.time() >= due:
            return True
        assert state == "asleep"
        return None

    await until(is_due)
    (moment,) = await written(site, "asleep")
    assert moment >= due
    # Nobody has visited it, so it need not stay awake for long.
    assert await site.hosted.sleep_if_idle(900, visited_ago=1e6) is False
    assert site.hosted._unvisited


async def test_a_scheduled_post_is_published_in_time_while_the_site_sleeps(site: Site):
    await site.node.announce(site, cache_ttl=3600)
    await site.run_php(
        f'{LOAD} wp_set_current_user(1); wp_insert_post(["post_title" => "From the future", "post_status" => "future",'
        ' "post_date" => wp_date("Y-m-d H:i:s", time() + 4)]);'
    )
    await site.hosted.sleep()

    async def is_published() -> bool | None:
        return (
            bool(
                site.query(
                    "select 1 from {schema}.wp_posts where post_title = 'From the future' and post_status = 'publish'"
                )
            )
            or None
        )

    await until(is_published, PATIENCE)
    await site.node.announce(site)


async def until_quiet(site: Site) -> None:
    """Wait for the end of all runs: WordPress itself may lose an event that is added while another request
    changes events."""

    async def look() -> bool | None:
        return (not site.hosted._uses and "do_pings" not in stored_events(site)) or None

    await until(look, PATIENCE)


async def test_failures_are_in_the_log_of_the_site_and_other_events_are_run(site: Site):
    await until_quiet(site)
    await site.run_php(
        f'{LOAD} wp_schedule_single_event(time(), "throw"); wp_schedule_single_event(time(), "write", ["after-throw"]);'
    )
    await written(site, "after-throw")
    assert "cron: throw failed: an event of mine failed" in site.paths.log.read_text()


async def test_an_event_whose_interval_is_invalid_does_not_stop_the_others(site: Site):
    await until_quiet(site)
    await site.run_php(
        f'{LOAD} wp_schedule_event(time() - 9, "broken", "write", ["broken"]); wp_schedule_single_event(time(), "write", ["other"]);'
    )
    await written(site, "other")
    assert len(await written(site, "broken")) == 1
    assert "cron: write will be run in an hour: Modulo by zero" in site.paths.log.read_text()
    left = await site.run_php(
        f'{LOAD} echo wp_next_scheduled("write", ["broken"]) - time(); wp_clear_scheduled_hook("write", ["broken"]);'
    )
    assert 3000 < int(left) <= 3600


async def test_an_event_that_ends_php_is_not_repeated_and_the_next_run_waits(site: Site):
    await schedule(site, "end")

    async def is_logged() -> bool | None:
        return "cron: events could not be run: PHP ended" in site.paths.log.read_text() or None

    await until(is_logged, PATIENCE)
    state = site.node.runtime._services.schedule.get(site.environment)
    assert state.failures == 1
    assert state.not_before > time.time() + 30
    assert '"end"' not in stored_events(site)
    state.not_before, state.failures = 0.0, 0


async def test_long_events_of_some_sites_do_not_delay_those_of_another(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cron_runner, "FAST_SECONDS", 1.0)
    runner_places = cron_runner.FAST_AT_ONCE
    schedule_of_node = CronSchedule(site.paths.home / "cron-test.sqlite")
    started: list[str] = []

    class Hosted:
        state = "awake"

        @asynccontextmanager
        async def use(self) -> AsyncIterator[None]:
            yield

    async def request(socket: Path, _: object) -> bytes:
        name = socket.parent.parent.name
        started.append(name)
        await asyncio.sleep(0 if name == "quick" else 30)
        return b'{"done":true,"run":1,"failed":0}\n'

    monkeypatch.setattr("stead.node.wordpress.fastcgi_client.request", request)
    names = {f"slow-{number}": "https://x.example" for number in range(3 * runner_places)} | {
        "quick": "https://y.example"
    }
    hosted = Hosted()
    runner = cron_runner.CronRunner(
        schedule_of_node,
        lambda: names,
        lambda _: hosted,  # type: ignore[arg-type,return-value]
        lambda name: type(site.paths)(site.paths.data, name),
    )
    for name in names:
        schedule_of_node.get(name).last_run = 0 if name != "quick" else 1
    running = asyncio.create_task(runner.run())

    async def quick_has_run() -> bool | None:
        return "quick" in started or None

    await until(quick_has_run, 20)
    running.cancel()
    await asyncio.wait({running})
    schedule_of_node.close()


async def test_visitors_cannot_run_events(site: Site):
    assert (await site.get("/wp-cron.php?doing_wp_cron=1")).status_code == 403


async def test_two_runs_at_the_same_time_run_an_event_once(site: Site):
    await schedule(site, "hang", seconds=1)

    async def is_running() -> bool | None:
        return "hang" not in stored_events(site) or None

    await until(is_running, PATIENCE)
    url = f"https://{site.host}"
    parameters = fastcgi_client.platform_parameters(cron_runner.SCRIPT, "/wp-cron.php", url)
    answer = await fastcgi_client.request(site.paths.socket, parameters)
    assert b'"busy":true' in answer


def test_due_times_survive_a_restart_and_are_bounded(tmp_path: Path):
    now = time.time()
    before = CronSchedule(tmp_path / "cron.sqlite")
    before.report("env_a", CronTimes(now + 50, now + 100))
    before.note_start("env_a", now)
    before.note_end("env_a", failed=True, slow=True)
    before.get("env_b")
    before.get("env_c")
    before.forget("env_c")
    before.close()
    after = CronSchedule(tmp_path / "cron.sqlite")
    state = after.get("env_a")
    assert (state.next_at, state.once_at, state.failures, state.slow) == (now + 50, now + 100, 1, True)
    assert set(after._states) == {"env_a", "env_b"}
    after.close()


@pytest.mark.parametrize("asleep", [False, True])
def test_a_run_that_fails_without_a_report_is_repeated_after_a_pause(tmp_path: Path, asleep: bool):
    schedule, now = CronSchedule(tmp_path / "cron.sqlite"), time.time()
    schedule.report("env_a", CronTimes(now - 1, now - 1))
    for pause in (120, 240):
        schedule.note_start("env_a", now)
        schedule.note_end("env_a", failed=True, slow=False)
        assert abs(schedule.get("env_a").due_at("env_a", asleep=asleep) - now - pause) < 30
    schedule.report("env_a", CronTimes(None, None))
    schedule.get("env_a").last_run = now - UNKNOWN_SECONDS
    schedule.note_start("env_a", now)
    schedule.note_end("env_a", failed=True, slow=False)
    assert abs(schedule.get("env_a").due_at("env_a", asleep=False) - now - 480) < 30
    schedule.close()


def test_an_event_is_still_due_after_a_run_that_was_interrupted_by_a_crash(tmp_path: Path):
    before, now = CronSchedule(tmp_path / "cron.sqlite"), time.time()
    before.report("env_a", CronTimes(now - 1, now - 1))
    before.get("env_a").last_run = now - 100
    before.note_start("env_a", now)
    before.close()
    after = CronSchedule(tmp_path / "cron.sqlite")
    assert after.get("env_a").due_at("env_a", asleep=True) <= now + 1
    after.close()


async def test_a_removed_environment_that_waited_for_its_run_stays_forgotten(tmp_path: Path):
    schedule = CronSchedule(tmp_path / "cron.sqlite")
    schedule.get("env_a").last_run = 0.0
    hosted: dict[str, object] = {"env_a": type("Hosted", (), {"state": "awake"})()}
    runner = cron_runner.CronRunner(
        schedule,
        lambda: dict.fromkeys(hosted, "https://x.example"),
        hosted.get,  # type: ignore[arg-type]
        lambda name: EnvironmentPaths(tmp_path, name),
    )
    runner._fast = asyncio.Semaphore(0)
    runner._start_due()
    (run,) = runner._running.values()
    hosted.clear()
    schedule.forget("env_a")
    runner._fast.release()
    await asyncio.wait({run}, timeout=30)
    assert run.done()
    assert run.exception() is None
    assert schedule._states == {}
    schedule.close()


def test_many_new_sites_are_not_woken_at_once(tmp_path: Path):
    schedule, now = CronSchedule(tmp_path / "cron.sqlite"), time.time()
    names = [f"env_{number}" for number in range(300)]
    assert all(schedule.get(name).due_at(name, asleep=False) <= now + JITTER_SECONDS for name in names)
    woken = [int((schedule.get(name).due_at(name, asleep=True) - now) / 60) for name in names]
    assert max(woken.count(minute) for minute in set(woken)) < 60
    schedule.close()


def test_a_late_report_does_not_hide_an_event_that_another_request_has_added(tmp_path: Path):
    schedule = CronSchedule(tmp_path / "cron.sqlite")
    now = time.time()
    schedule.note_start("env_a", now)
    schedule.report("env_a", CronTimes(now + 5, now + 5))
    schedule.report("env_a", CronTimes(now + 500, None))
    assert (schedule.get("env_a").next_at, schedule.get("env_a").once_at) == (now + 5, now + 5)
    schedule.note_start("env_a", now + 10)
    schedule.report("env_a", CronTimes(now + 500, None))
    assert (schedule.get("env_a").next_at, schedule.get("env_a").once_at) == (now + 500, None)
    schedule.close()


@pytest.mark.parametrize(
    ("state", "asleep", "expected"),
    [
        (CronState(0.0, None, 1000.0), False, 1000.0 + EVERY_SECONDS),
        (CronState(5000.0, None, 1000.0), False, 5000.0),
        (CronState(1030.0, None, 1000.0), True, 1000.0 + ASLEEP_SECONDS),
        (CronState(1030.0, 1200.0, 1000.0), True, 1200.0),
        (CronState(1030.0, 1010.0, 1000.0), True, 1000.0 + EVERY_SECONDS),
        (CronState(None, None, 1000.0), True, 1000.0 + UNKNOWN_SECONDS),
        (CronState(1e10, 1e10, 1000.0), False, 1000.0 + UNKNOWN_SECONDS),
        (CronState(0.0, None, 1000.0, 9000.0), False, 9000.0),
    ],
)
def test_when_a_site_is_due(state: CronState, asleep: bool, expected: float, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stead.node.wordpress.cron_schedule.EVERY_SECONDS", EVERY_SECONDS)
    monkeypatch.setattr("stead.node.wordpress.cron_schedule.JITTER_SECONDS", JITTER_SECONDS)
    assert 0 <= state.due_at("env_a", asleep=asleep) - expected <= JITTER_SECONDS


async def test_requests_that_change_events_at_the_same_time_lose_none(site: Site):
    """WordPress stores all events in one value, which each request reads at its beginning and writes as a whole."""
    add = 'wp_schedule_single_event(time() + 9000, "collect", ["{name}"]);'
    await site.run_php(LOAD + add.format(name="old"))
    uploads = site.paths.content / "uploads"
    slow = asyncio.create_task(
        site.run_php(
            f'{LOAD} _get_cron_array(); touch("/srv/site/wp-content/uploads/began");'
            ' for ($left = 3000; $left-- && !file_exists("/srv/site/wp-content/uploads/go"); usleep(10000));'
            + add.format(name="slow")
        )
    )

    async def has_begun() -> bool | None:
        return (uploads / "began").exists() or None

    await until(has_begun, PATIENCE)
    await site.run_php(f'{LOAD} wp_clear_scheduled_hook("collect", ["old"]);' + add.format(name="quick"))
    (uploads / "go").touch()
    await slow
    each = "for ($at = 0; $at < 15; $at++) { " + add.replace("{name}", "NAME-$at") + " }"
    await asyncio.gather(*(site.run_php(LOAD + each.replace("NAME", name)) for name in "abc"))
    stored = await site.run_php(
        f'{LOAD} foreach (_get_cron_array() as $hooks) {{ foreach ($hooks["collect"] ?? [] as $event) {{ echo $event["args"][0], " "; }} }}'
    )
    expected = {"slow", "quick", *(f"{name}-{number}" for name in "abc" for number in range(15))}
    assert set(stored.split()) == expected
