"""Lines of a site's log are read once, also when the log loses its beginning, and leave the node masked."""

import time
from pathlib import Path

import pytest

from stead.node.drivers.driver import SiteLog
from stead.node.telemetry import site_logs
from stead.node.telemetry.masks import MAX_BODY, mask
from stead.node.telemetry.site_logs import LogSource, read_lines
from stead.node.telemetry.spool import Position, Spool
from tests.node.telemetry.chunk_files import read_rows

NOW = 1_800_000_000.0
STAMP = "[15-Jan-2027 07:59:00 UTC]"


class Site:
    def __init__(self, directory: Path) -> None:
        self.log, self._directory = directory / "php.log", directory
        self.log.touch()
        self.written: list[str] = []
        self.start()

    def start(self) -> None:
        self.spool = Spool(self._directory / "telemetry")
        self.source = LogSource(lambda: [SiteLog("env_1", self.log, "php")], self.spool)

    def restart(self) -> None:
        self.spool.close()
        self.start()

    def write(self, count: int = 1) -> None:
        with self.log.open("a") as file:
            for _ in range(count):
                stamp = time.strftime("[%d-%b-%Y %H:%M:%S UTC]", time.gmtime())
                line = f"line {len(self.written):06d}"
                file.write(f"{stamp} {line}\n")
                self.written.append(line)

    def take_rows(self) -> list[list[str]]:
        rows = []
        while (chunk := self.spool.next_chunk()) is not None:
            rows += read_rows(chunk)
            self.spool.remove(chunk)
        return rows

    def take(self) -> list[str]:
        return [row[5] for row in self.take_rows()]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_lines_are_read_once(site: Site) -> None:
    site.source.read_new()
    site.write(3)
    site.source.read_new()
    site.source.read_new()
    site.restart()
    site.source.read_new()
    site.write(2)
    site.source.read_new()
    assert site.take() == site.written


def test_a_log_of_repeated_lines_is_continued_behind_the_last_place(site: Site) -> None:
    site.log.write_text("a\n" * 1000)
    site.source.read_new()
    site.take()
    site.log.write_text("a\n" * 500 + "b\n")
    site.source.read_new()
    assert site.take() == ["b"]


def test_lines_without_a_time_belong_to_the_last_line_of_the_read_before(site: Site) -> None:
    stamp = time.strftime("[%d-%b-%Y %H:%M:%S UTC]", time.gmtime(time.time() - 20))
    site.log.write_text(f"{stamp} PHP Fatal error:  Uncaught Error: x\n")
    site.source.read_new()
    with site.log.open("a") as file:
        file.write("Stack trace:\n")
    site.source.read_new()
    rows = site.take_rows()
    assert [(row[2], row[5]) for row in rows] == [
        ("ERROR", "PHP Fatal error:  Uncaught Error: x"),
        ("ERROR", "Stack trace:"),
    ]
    assert int(float(rows[0][1])) == int(float(rows[1][1]))
    assert rows[0][1] < rows[1][1]


def test_a_log_that_loses_its_beginning_is_continued(site: Site) -> None:
    site.write(100)
    site.source.read_new()
    site.write(5)
    content = site.log.read_bytes()
    site.log.write_bytes(content[len(content) // 2 :])
    site.source.read_new()
    site.write(2)
    site.source.read_new()
    assert site.take() == site.written


def test_lines_that_are_gone_before_they_were_read_are_mentioned(site: Site) -> None:
    site.write(10)
    site.source.read_new()
    site.log.write_text("")
    site.write(3)
    site.source.read_new()
    assert site.take() == [*site.written[:10], site_logs._LOST, *site.written[10:]]


def test_little_of_a_log_is_read_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_logs, "READ_BYTES", 1000)
    site.write(100)
    site.source.read_new()
    assert 0 < len(site.take()) < 40


def test_what_is_no_file_is_not_read(site: Site, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("[x] secret\n")
    site.log.unlink()
    site.log.symlink_to(secret)
    site.source.read_new()
    site.log.unlink()
    site.source.read_new()
    site.log.mkdir()
    site.source.read_new()
    assert site.take() == []


def test_lines_of_php_and_fpm_are_understood() -> None:
    text = f"""{STAMP} PHP Fatal error:  Uncaught Error: x in /site/index.php:3
Stack trace:
#0 {{main}}
{STAMP} WARNING: [pool www] child 7 said into stderr: "PHP Warning:  y"
[15-Jan-2027 07:59:01] NOTICE: fpm is running, pid 1
{STAMP} cron: hook failed: z
no time at all
"""
    lines = list(read_lines(text, NOW))
    assert [(line.severity, line.service, line.body) for line in lines] == [
        ("ERROR", "php", "PHP Fatal error:  Uncaught Error: x in /site/index.php:3"),
        ("ERROR", "php", "Stack trace:"),
        ("ERROR", "php", "#0 {main}"),
        ("WARN", "php", "PHP Warning:  y"),
        ("INFO", "php-fpm", "fpm is running, pid 1"),
        ("ERROR", "cron", "cron: hook failed: z"),
        ("ERROR", "cron", "no time at all"),
    ]
    assert all(line.moment <= NOW for line in lines)
    assert lines[0].moment < lines[1].moment < lines[2].moment


@pytest.mark.parametrize(
    "stamp",
    [
        *("15-Jan-2027 07:59:00 UTC", "15-Jan-2027 07:59:00", "15-Jan-2027 08:59:00 Europe/Berlin"),
        *("15-Jan-2027 13:29:00 +05:30", "15-Jan-2027 02:59:00 America/New_York"),
    ],
)
def test_a_site_chooses_the_zone_of_its_log(stamp: str) -> None:
    (line,) = read_lines(f"[{stamp}] PHP Warning:  x", NOW)
    assert (line.moment, line.severity, line.body) == (NOW - 60, "WARN", "PHP Warning:  x")


@pytest.mark.parametrize("zone", ["Nowhere/Else", "Europe", "../etc/passwd", "/etc/passwd", "+99:99", "-"])
def test_a_zone_that_is_not_known_hides_only_the_time(zone: str) -> None:
    (line,) = read_lines(f"[15-Jan-2027 07:59:00 {zone}] PHP Warning:  x", NOW)
    assert line.moment == NOW
    assert line.body.endswith("PHP Warning:  x")


@pytest.mark.parametrize(
    "text", ["[15-Jan-2099 00:00:00 UTC] x", "[99-Foo-2026 00:00:00 UTC] x", "[01-Jan-2020 00:00:00] x"]
)
def test_a_time_that_cannot_be_true_is_replaced(text: str) -> None:
    (line,) = read_lines(text, NOW)
    assert line.moment == NOW


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("from 203.0.113.77 port 1", "from 203.0.113.0 port 1"),
        ("from 2001:db8:1:2:3:4:5:6 end", "from 2001:db8:1:: end"),
        ("mail to a.b+c@example.co.uk failed", "mail to [mail] failed"),
        ("GET /search?q=private HTTP/1.1", "GET /search HTTP/1.1"),
        ("see https://example.com/x?token=1 now", "see https://example.com/x now"),
        ("version 1.2.3 at 10:20:30", "version 1.2.3 at 10:20:30"),
        ("from 2001:db8::1 end", "from 2001:db8:: end"),
        ("from [2001:db8::abcd:1]:443, ::1.", "from [2001:db8::]:443, ::."),
        ("ip:2001:db8:1:2::7: refused", "ip:2001:db8:1::: refused"),
        ("2a01::5.443 > 2001:DB8:1:2:3:4:5:6.80", "2a01::.443 > 2001:db8:1::.80"),
        ("mapped ::ffff:203.0.113.77", "mapped ::ffff:203.0.113.0"),
        ("Feed::add() Form::add2() parent::b1", "Feed::add() Form::add2() parent::b1"),
        ("to user%40example.com and a%2Bb%40example.com", "to [mail] and [mail]"),
        ("id=%40user%40example.com", "id=%40[mail]"),
        ("open /x?token=1 or 'index.php?key=2'", "open /x or 'index.php'"),
        ("https://example.com/a?b=https://example.com/c?d=e", "https://example.com/a"),
        ("really? yes ?x a?b", "really? yes ?x a?b"),
    ],
)
def test_personal_data_is_masked(body: str, expected: str) -> None:
    assert mask(body) == expected


@pytest.mark.parametrize(
    "part",
    [
        *("http://", "GET /x", "a.b-c", "a@", "a@b", "%40", "%40a", "1:1:1:", "::", "1.", "203.0.113.", "a?"),
        *("?", "::1.", "2001:db8::", "@a.", "/?"),
    ],
)
def test_masking_takes_time_in_proportion_to_a_line(part: str) -> None:
    def measure(length: int) -> float:
        text, taken = (part * length)[:length], []
        for _ in range(5):
            began = time.thread_time()
            for _ in range(MAX_BODY // length):
                mask(text)
            taken.append(time.thread_time() - began)
        return min(taken)

    # As many characters in lines that are 16 times as long. Quadratic would be 16 times.
    assert measure(MAX_BODY) < 6 * measure(MAX_BODY // 16) + 0.001


def test_few_lines_are_read_at_a_time_and_the_rest_later(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_logs, "READ_LINES", 10)
    site.write(25)
    site.source.read_new()
    assert site.take() == site.written[:10]
    site.source.read_new()
    site.source.read_new()
    site.source.read_new()
    assert site.take() == site.written[10:]


def test_the_place_in_a_log_is_found_quickly_whatever_is_in_it(tmp_path: Path) -> None:
    path, size = tmp_path / "log", 8 << 20
    path.write_bytes(b"a" * size)

    def find(before: bytes) -> float:
        with path.open("rb") as file:
            began = time.thread_time()
            assert site_logs._find_start(file.fileno(), size, Position(size + 1, before)) == (0, True)
            return time.thread_time() - began

    harmless = min(find(b"x" * 256) for _ in range(3))
    assert min(find(b"a" * 128 + b"b" + b"a" * 127) for _ in range(3)) < 40 * harmless
    assert min(find(b"ab" + b"a" * 254) for _ in range(3)) < 40 * harmless


def test_a_long_line_is_cut_and_says_so() -> None:
    assert mask("x" * 9_000) == "x" * 8_000 + " … 1000 more characters were cut"
