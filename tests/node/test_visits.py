"""Each line of the ledger is read once, also when the file is rotated or truncated."""

import json
import os
import time
from pathlib import Path

import pytest

from stead.node import visits
from stead.node.visits import LedgerReader


def _line(environment: str, ts: float, address: str = "192.0.2.0", peer: str = "") -> str:
    said = {"ts": ts, "site": "site_1", "environment": environment, "address": address, "peer": peer}
    return json.dumps({**said, "agent": 'a "quoted" one', "status": 200}) + "\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.json"


def test_a_missing_ledger_has_no_visits(path: Path):
    assert LedgerReader(path).read_new() == {}


def test_the_last_visit_of_each_environment_is_returned_once(path: Path):
    path.write_text(_line("env_a", 10.5) + _line("env_b", 11) + _line("env_a", 9))
    ledger = LedgerReader(path)
    assert ledger.read_new() == {"env_a": 10.5, "env_b": 11.0}
    assert ledger.read_new() == {}
    with path.open("a") as file:
        file.write(_line("env_b", 12))
    assert ledger.read_new() == {"env_b": 12.0}


def test_requests_that_are_no_visits_are_ignored(path: Path):
    passed_on, probe, nobody = _line("env_a", 1, peer="node-2"), _line("env_a", 1, "::"), _line("", 1)
    path.write_text(passed_on + probe + nobody + "no JSON\n" + '{"ts": "x"}\n')
    assert LedgerReader(path).read_new() == {}


def test_what_browsers_have_measured_does_not_keep_a_site_awake(path: Path):
    lines = (_line("env_a", 1), _line("env_a", 2).replace("{", '{"path": "/_stead/vitals", ', 1))
    path.write_text("".join(lines))
    assert LedgerReader(path).read_new() == {"env_a": 1.0}


def test_a_line_with_bytes_that_are_no_text_does_not_hide_others(path: Path):
    raw = _line("env_1", 1.0).replace("192.0.2.0", "192.0.2.0\xff").encode("latin-1")
    path.write_bytes(raw + _line("env_2", 2.0).encode())
    assert LedgerReader(path).read_new() == {"env_2": 2.0}


def test_an_incomplete_line_is_read_when_it_is_complete(path: Path):
    whole = _line("env_a", 5)
    path.write_text(_line("env_b", 4) + whole[:20])
    ledger = LedgerReader(path)
    assert ledger.read_new() == {"env_b": 4.0}
    with path.open("a") as file:
        file.write(whole[20:])
    assert ledger.read_new() == {"env_a": 5.0}


def test_reading_continues_with_the_new_ledger_after_a_rotation(path: Path):
    path.write_text(_line("env_a", 1) * 10)
    ledger = LedgerReader(path)
    ledger.read_new()
    path.rename(path.with_suffix(".old"))
    path.write_text(_line("env_b", 2))
    assert ledger.read_new() == {"env_b": 2.0}


def test_a_truncated_ledger_is_read_from_its_beginning(path: Path):
    path.write_text(_line("env_a", 1) * 10)
    ledger = LedgerReader(path)
    ledger.read_new()
    os.truncate(path, 0)
    path.write_text(_line("env_b", 2))
    assert ledger.read_new() == {"env_b": 2.0}


def test_old_lines_are_skipped_and_an_endless_line_does_not_block(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    # With the number that ships, the file would have to be larger than it.
    monkeypatch.setattr(visits, "MAX_LOOK_BACK", 1000)
    path.write_text(_line("env_old", 1) + "x" * 2_000_000 + "\n" + _line("env_new", 2))
    assert LedgerReader(path).read_new() == {"env_new": 2.0}
    whole = LedgerReader(path)
    monkeypatch.setattr(visits, "MAX_LOOK_BACK", 10_000_000)
    assert whole.read_new() == {"env_old": 1.0, "env_new": 2.0}


def test_the_lines_of_a_busy_minute_are_read_in_less_than_a_minute(path: Path):
    path.write_text("".join(_line(f"env_{number % 1000}", number) for number in range(60_000)))
    began = time.process_time()
    assert len(LedgerReader(path).read_new()) == 1000
    assert time.process_time() - began < 5, "which is very generous"
