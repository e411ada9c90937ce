"""Every line of the ledger is in exactly one chunk, whatever happens to the agent and to the files."""

from pathlib import Path
from typing import Any

import pytest

from stead.node.ledger_rotation import LedgerRotation
from stead.node.telemetry import ledger_source, spool
from stead.node.telemetry.agents import reduce_agent
from stead.node.telemetry.ledger_rows import format_row, read_line
from stead.node.telemetry.ledger_source import LedgerSource
from stead.node.telemetry.spool import Spool
from stead.node.visits import VITALS_PATH
from stead.protocol.telemetry import REQUEST_COLUMNS
from tests.control.insights.recorded import FIREFOX, ledger_line
from tests.node.telemetry.chunk_files import read_rows


class Node:
    """The files of a node, and an agent that can be killed."""

    def __init__(self, directory: Path) -> None:
        self._directory, self.ledger = directory, directory / "ledger.json"
        self.written: list[str] = []
        self.start()

    def start(self) -> None:
        self.spool = Spool(self._directory / "telemetry")
        self.source = LedgerSource(self.ledger, self.spool)

    def restart(self) -> None:
        self.spool.close()
        self.start()

    def write(self, count: int = 1, **wanted: Any) -> None:
        with self.ledger.open("ab") as file:
            for _ in range(count):
                path = f"/{len(self.written)}"
                file.write(ledger_line("env_1", path=path, **wanted) + b"\n")
                self.written.append(path)

    def rotate(self, number: int) -> Path:
        return self.ledger.rename(self.ledger.with_name(f"ledger.{number}.json"))

    def take_paths(self) -> list[str]:
        """The paths in the chunks, which are removed."""
        paths = []
        while (chunk := self.spool.next_chunk()) is not None:
            paths += [row[5] for row in read_rows(chunk)]
            self.spool.remove(chunk)
        return paths


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_lines_become_rows_once(node: Node) -> None:
    node.source.read_new()
    assert node.spool.next_chunk() is None
    node.write(3)
    node.source.read_new()
    node.source.read_new()
    node.restart()
    node.source.read_new()
    node.write(2)
    node.source.read_new()
    assert node.take_paths() == node.written


def test_a_line_that_is_being_written_is_read_when_it_is_complete(node: Node) -> None:
    node.write(1)
    line = ledger_line("env_1", path="/half")
    with node.ledger.open("ab") as file:
        file.write(line[:40])
        file.flush()
        node.source.read_new()
        file.write(line[40:] + b"\n")
    node.source.read_new()
    assert node.take_paths() == ["/0", "/half"]


def test_rotated_ledgers_are_read_to_their_end_also_if_they_still_grow(node: Node) -> None:
    node.write(2)
    node.source.read_new()
    node.write(2)
    old = node.rotate(1)
    node.write(2)
    node.source.read_new()
    with old.open("ab") as file:
        file.write(ledger_line("env_1", path="/late") + b"\n")
    node.source.read_new()
    node.rotate(2)
    node.write(1)
    node.restart()
    node.source.read_new()
    assert sorted(node.take_paths()) == sorted([*node.written, "/late"])


@pytest.mark.parametrize("at", ["before the file", "before the record", "before the end"])
def test_a_crash_while_a_chunk_is_made_loses_and_repeats_nothing(
    node: Node, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    node.write(3)
    node.source.read_new()
    node.write(3)
    with monkeypatch.context() as dying:
        if at == "before the file":
            dying.setattr(spool, "_write", die)
        elif at == "before the record":
            dying.setattr(spool, "transaction", die)
        else:
            dying.setattr(node.spool, "forget_files", die)
        with pytest.raises(Killed):
            node.source.read_new()
    node.restart()
    node.source.read_new()
    assert node.take_paths() == node.written


def test_a_file_that_was_delivered_and_not_removed_is_removed_at_the_next_start(node: Node) -> None:
    node.write(1)
    node.source.read_new()
    chunk = node.spool.next_chunk()
    assert chunk is not None
    content = chunk.path.read_bytes()
    node.spool.remove(chunk)
    chunk.path.write_bytes(content)
    node.restart()
    assert not chunk.path.exists()


def test_chunks_have_different_names_also_when_all_were_delivered(node: Node) -> None:
    names = set()
    for _ in range(3):
        node.write(1)
        node.source.read_new()
        chunk = node.spool.next_chunk()
        assert chunk is not None
        names.add(chunk.chunk.id)
        node.spool.remove(chunk)
        node.restart()
    assert len(names) == 3


def test_when_too_much_waits_lines_stay_in_their_files(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MAX_BYTES", 1)
    node.write(2)
    node.source.read_new()
    node.write(2)
    node.source.read_new()
    assert node.take_paths() == ["/0", "/1"]
    node.source.read_new()
    assert node.take_paths() == ["/2", "/3"]


def test_what_is_removed_before_it_was_read_is_counted_as_a_gap(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.write(1)
    node.source.read_new()
    monkeypatch.setattr(spool, "MAX_BYTES", 1)
    node.write(5)
    for number in range(3):
        node.rotate(number)
        node.write(1)
    rotation = LedgerRotation(
        node.ledger, Path("/nowhere"), kept=1, before_removal=node.source.before_removal
    )
    assert rotation.remove_old() == 2
    monkeypatch.setattr(spool, "MAX_BYTES", 1 << 20)
    node.source.read_new()
    kept = node.take_paths()
    gaps = [gap for _, gap in node.spool.list_gaps(10)]
    assert len(kept) + sum(gap.rows for gap in gaps) == len(node.written)
    assert [gap.rows for gap in gaps] == [5, 1]
    assert node.source.lost == 6
    node.spool.remove_gaps([id_ for id_, _ in node.spool.list_gaps(10)])
    assert not node.spool.list_gaps(10)


def test_a_busy_ledger_is_split_into_chunks(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_source, "READ_BYTES", 4096)
    node.write(50)
    node.source.read_new()
    first = node.spool.next_chunk()
    assert first is not None
    assert first.chunk.rows < 50
    assert node.take_paths() == node.written


def test_only_visits_of_this_node_count(node: Node) -> None:
    node.write(1)
    node.write(1, address="::")
    node.write(1, peer="192.0.2.7:8443")
    with node.ledger.open("ab") as file:
        file.write(ledger_line("", path="/no-site") + b"\nno json\n\n")
    node.source.read_new()
    assert node.take_paths() == ["/0"]


def test_bytes_that_are_no_text_are_replaced_and_do_not_lose_the_line(node: Node) -> None:
    node.write(1)
    with node.ledger.open("ab") as file:
        file.write(ledger_line("env_1", path="/raw").replace(b"/raw", b"/\xff\xfe") + b"\n")
    node.source.read_new()
    assert node.take_paths() == ["/0", "/��"]


def test_a_row_has_every_column_and_no_personal_data() -> None:
    visit = read_line(ledger_line("env_1", path="/a\tb\\\nc", agent=FIREFOX))
    assert visit is not None
    row = format_row(visit)
    values = row.decode().removesuffix("\n").split("\t")
    assert len(values) == len(REQUEST_COLUMNS)
    named = dict(zip(REQUEST_COLUMNS, values, strict=True))
    assert (named["agent"], named["device"], named["path"]) == ("Firefox", "desktop", "/a\\tb\\\\\\nc")
    assert b"Mozilla" not in row


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        ("1.234", "20480", ["1234", "20480"]),
        ("", "", ["0", "0"]),
        ("-3", "1e30", ["0", "4294967295"]),
        ("nan", "x\ty", ["0", "0"]),
    ],
)
def test_a_row_says_what_a_function_has_used(cpu: str, memory: str, expected: list[str]) -> None:
    visit = read_line(ledger_line("env_1", function="01k9zy3v7d00r3m8w5x2t6b4qa", cpu=cpu, memory=memory))
    assert visit is not None
    values = format_row(visit).decode().removesuffix("\n").split("\t")
    named = dict(zip(REQUEST_COLUMNS, values, strict=True))
    assert named["function_version"] == "fnv_01k9zy3v7d00r3m8w5x2t6b4qa"
    assert [named["cpu_us"], named["memory_kb"]] == expected


def test_visitors_cannot_invent_ever_more_methods_and_reasons() -> None:
    shown = []
    for method, reason in (("GET", "suspended"), ("X" * 10_000, "y" * 10_000), ("get", ""), ("PROPFIND", "")):
        visit = read_line(ledger_line("env_1", method=method, reason=reason))
        assert visit is not None
        values = format_row(visit).decode().removesuffix("\n").split("\t")
        shown.append((values[REQUEST_COLUMNS.index("method")], values[REQUEST_COLUMNS.index("reason")]))
    assert shown == [("GET", "suspended"), ("OTHER", "y" * 100), ("OTHER", ""), ("PROPFIND", "")]


def test_what_browsers_have_measured_is_no_request_unless_it_was_refused(node: Node) -> None:
    node.write(1)
    with node.ledger.open("ab") as file:
        for status in (204, 429, 413):
            line = ledger_line("env_1", path=VITALS_PATH, method="POST", status=status, host=f"{status}.test")
            file.write(line + b"\n")
    node.source.read_new()
    chunk = node.spool.next_chunk()
    assert chunk is not None
    assert [(row[5], row[6]) for row in read_rows(chunk)] == [
        *(("/0", "200"), (VITALS_PATH, "429"), (VITALS_PATH, "413"))
    ]


@pytest.mark.parametrize(
    ("first_byte", "size", "expected"),
    [
        ("0.120", 10, "120"),
        ("0.1, 0.2 : 0.3", 10, "600"),
        ("-", 10, "12"),
        ("", 100_000, "-1"),
        ("x", 10, "-1"),
    ],
)
def test_the_time_to_the_first_byte_is_what_is_known_of_it(first_byte: str, size: int, expected: str) -> None:
    visit = read_line(ledger_line("env_1", first_byte=first_byte, bytes_out=size))
    assert visit is not None
    values = format_row(visit).decode().split("\t")
    assert values[REQUEST_COLUMNS.index("first_byte_ms")] == expected


@pytest.mark.parametrize(
    ("text", "family", "device"),
    [
        (FIREFOX, "Firefox", "desktop"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
            " Version/18.0 Mobile/15E148 Safari/604.1",
            *("Safari", "mobile"),
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
            " Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
            *("Edge", "desktop"),
        ),
        (
            "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko)"
            " Chrome/140.0.0.0 Mobile Safari/537.36",
            *("Chrome", "mobile"),
        ),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Googlebot", "bot"),
        ("curl/8.5.0", "curl", "bot"),
        ("SomeCrawler/1.0", "Bot", "bot"),
        ("", "None", "bot"),
        ("unheard of", "Other", "other"),
    ],
)
def test_an_agent_is_reduced_to_its_family(text: str, family: str, device: str) -> None:
    assert reduce_agent(text) == (family, device)


def test_only_root_can_read_what_waits(node: Node) -> None:
    node.write(1)
    node.source.read_new()
    chunk = node.spool.next_chunk()
    assert chunk is not None
    assert chunk.path.stat().st_mode & 0o077 == 0
    assert chunk.path.parent.stat().st_mode & 0o077 == 0
