"""Directories scanned with a real clamd, YARA and the process that reads files: what they find, and what
happens when they fail."""

import gzip
import hashlib
import io
import os
import signal
import threading
import zipfile
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path, PurePath

import pytest

from stead.node.containers import cgroups
from stead.node.scanning import scanner_channel, site_scan
from stead.node.scanning.clamd_client import REPLY_SECONDS, WINDOW, ClamdSession, ClamdUnavailable
from stead.node.scanning.clamd_server import SCANNER_UID, ClamdServer
from stead.node.scanning.scanner_channel import EngineFailed
from tests.node.scanning.corpus import make_samples
from tests.node.scanning.scanned_directory import ScannedDirectory, false_clamd, scanned_directory
from tests.patience import time_limit
from tests.seeds import current_seed

SHELL = b"<?php @eval($_POST['c']); ?>\n"
EICAR = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$" + b"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
_OWN_NETWORK = Path("/proc/self/ns/net").readlink()
SLOW_SECONDS = 2.0
"""Shorter than what ships, so that the test of a clamd that does not answer ends soon."""


@pytest.fixture(scope="module")
async def shared(shared_scratch: Path) -> AsyncIterator[ScannedDirectory]:
    async with scanned_directory(shared_scratch, reply_seconds=SLOW_SECONDS) as made:
        yield made


@pytest.fixture
def place(shared: ScannedDirectory) -> ScannedDirectory:
    shared.clear()
    return shared


async def test_samples_are_found_in_files_and_everything_else_is_left_alone(place: ScannedDirectory) -> None:
    samples = make_samples(current_seed())[::8]
    wanted = set()
    for number, sample in enumerate(samples):
        path = PurePath(sample.path.removeprefix("wp-content/"))
        file = place.put(str(path.parent / str(number) / path.name), sample.content)
        wanted.add(str(file.relative_to(place.home)))
    place.put("uploads/eicar.com", EICAR)
    place.put("uploads/note.txt", b"a note")
    # Links are not followed, and what is no file is not opened.
    (place.home / "secret.php").write_bytes(SHELL)
    (place.content / "link.php").symlink_to(place.home / "secret.php")
    (place.content / "folder").symlink_to(place.home)
    os.mkfifo(place.content / "pipe.php")
    unreadable = place.put("unreadable.php", SHELL)
    unreadable.chmod(0)
    report = await place.scan(full=True)
    found = {each.path: each for each in report.findings}
    wanted |= {"wp-content/uploads/eicar.com", "wp-content/unreadable.php"}
    assert len(wanted - found.keys()) <= len(wanted) * 0.02, wanted - found.keys()
    assert found.keys() <= wanted
    assert (found["wp-content/uploads/eicar.com"].engine, report.failed) == ("clamav", [])
    assert {"wp-content/folder", "wp-content/link.php", "wp-content/pipe.php"}.isdisjoint(found)


async def test_a_file_that_changes_while_it_is_read_is_an_error_and_no_finding(
    place: ScannedDirectory,
) -> None:
    place.put("steady.php", SHELL)
    # Large enough that reading it takes longer than the writer waits for a processor.
    changing = place.put("changing.log", b"x" * (24 << 20))
    ended = threading.Event()

    def write() -> None:
        with changing.open("r+b") as file:
            for number in count():
                if ended.is_set():
                    return
                file.seek(0)
                file.write(SHELL)
                file.flush()
                # Each time another one: the clock of the file system is too coarse for that.
                os.utime(changing, ns=(number, number))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        report = await place.scan(full=True)
    finally:
        ended.set()
        writer.join()
    assert [each.path for each in report.findings] == ["wp-content/steady.php"]
    assert [path for path, _ in report.failed] == ["wp-content/changing.log"]
    assert "changed" in report.failed[0][1]


async def test_a_file_with_holes_that_is_larger_than_the_disk_does_not_keep_the_scanner_busy(
    place: ScannedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanner_channel, "ANSWER_SECONDS", 60.0)
    with place.put("uploads/huge.php", SHELL).open("r+b") as file:
        file.truncate(1 << 40)
    place.put("uploads/shell.php", SHELL)
    report = await place.scan(full=True)
    assert [each.path for each in report.findings] == ["wp-content/uploads/shell.php"]
    assert report.failed == [("wp-content/uploads/huge.php", "the file is too large to be scanned")]


async def test_many_large_files_are_read_a_few_at_a_time(
    place: ScannedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them together have more bytes than the process may use."""
    monkeypatch.setattr(place.scanner, "_reply_seconds", REPLY_SECONDS)
    for number in range(25):
        with place.put(f"uploads/{number}.txt", b"text").open("r+b") as file:
            file.truncate(40 << 20)
    place.put("uploads/shell.php", SHELL)
    report = await place.scan(full=True)
    assert [each.path for each in report.findings] == ["wp-content/uploads/shell.php"]
    # clamd has a limit of time, which a busy machine may exceed.
    reasons = {reason for _, reason in report.failed} - {"the file exceeds the limits of the scanner"}
    assert (report.files, reasons) == (26, set())


async def test_unchanged_files_are_not_read_again(
    place: ScannedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Also what was written a moment ago counts as settled, so that the test need not wait.
    monkeypatch.setattr(site_scan, "SETTLED_NS", 0)
    for number in range(20):
        file = place.put(f"notes/{number}.txt", b"a note %d" % number)
        os.utime(file, (1, 1))
    first = await place.scan(full=True)
    again = await place.scan()
    assert (first.scanned, again.files, again.unchanged, again.scanned) == (20, 20, 20, 0)
    # The same size and time, but another content: the change time tells.
    file = place.content / "notes" / "3.txt"
    file.write_bytes(SHELL[:8])
    os.utime(file, (1, 1))
    assert (await place.scan()).scanned == 1


async def test_a_scan_without_time_says_so_and_the_next_one_goes_on(
    place: ScannedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_scan, "SETTLED_NS", 0)
    for number in range(10):
        place.put(f"notes/{number}.txt", b"a note %d" % number)
    await place.scan()
    place.put("shell.php", SHELL)
    late = await place.scan(seconds=0.0)
    assert (late.findings, late.unchanged, late.unfinished, late.without_result) == ([], 10, 1, 1)
    assert "no time left" in late.failed[0][1]
    again = await place.scan()
    assert [each.path for each in again.findings] == ["wp-content/shell.php"]
    assert (again.unchanged, again.unfinished) == (10, 0)


async def test_files_without_a_result_are_read_after_all_others(
    place: ScannedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_scan, "SETTLED_NS", 0)
    with place.put("a/huge.php", SHELL).open("r+b") as file:
        file.truncate(1 << 40)
    place.put("note.txt", b"a note")
    first, again = await place.scan(), await place.scan()
    assert [each.without_result for each in (first, again)] == [1, 1]
    lines = (place.home / "index").read_bytes().splitlines()
    assert [line.split(b" ")[5:] for line in lines if b"huge" in line] == [[b"-", b"a/huge.php"]]
    late = await place.scan(seconds=0.0)
    # It takes no time from the others, and is no reason to repeat the scan.
    assert (late.unchanged, late.unfinished, late.without_result) == (1, 1, 1)


async def test_paths_that_nobody_can_open_and_more_names_than_fit_into_memory_do_not_stop_a_scan(
    place: ScannedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_scan, "MAX_NAMES", 60)
    place.put("shell.php", SHELL)
    for number in range(100):
        place.put(f"crowded/{number}.txt", b"text")
    directory = os.open(place.content, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 200, dir_fd=directory)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = below
    os.close(directory)
    report = await place.scan(index_bytes=500)
    assert [each.path for each in report.findings] == ["wp-content/shell.php"]
    reasons = {reason for _, reason in report.failed}
    assert reasons == {"the path is too long", "there are too many files"}
    assert (place.home / "index").stat().st_size < 1000


async def test_a_difference_to_what_was_released_is_a_finding(
    place: ScannedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_scan, "SETTLED_NS", 0)
    files = {name: place.put(f"plugins/{name}.php", b"<?php // %b" % name.encode()) for name in "abc"}
    expected: dict[tuple[bytes, ...], bytes] = {
        (b"plugins", f"{name}.php".encode()): hashlib.sha256(file.read_bytes()).digest()
        for name, file in files.items()
    }
    assert (await place.scan(expected=expected)).findings == []
    files["a"].unlink()
    files["b"].write_bytes(b"<?php // changed")
    place.put("plugins/d.php", b"<?php // new")
    for _ in range(2):
        # Also when the second scan does not read them again.
        found = {each.path: each.signature for each in (await place.scan(expected=expected)).findings}
        assert found == {
            "wp-content/plugins/a.php": "release_missing_file",
            "wp-content/plugins/b.php": "release_changed_file",
            "wp-content/plugins/d.php": "release_changed_file",
        }


async def test_new_signatures_of_an_operator_are_applied_to_unchanged_files(
    place: ScannedDirectory, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_scan, "SETTLED_NS", 0)
    content = b"a text that nobody knows"
    place.put("text.txt", content)
    assert (await place.scan()).findings == []
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    (scratch / "own.hdb").write_text(f"{digest}:{len(content)}:Own.Text\n")
    place.use_signatures(scratch)
    try:
        (found,) = (await place.scan()).findings
    finally:
        place.use_signatures(None)
    assert found.signature == "Own.Text"


async def test_a_session_leaves_threads_of_clamd_to_others(place: ScannedDirectory) -> None:
    await place.scanner.clamd.ensure()
    files = [place.put(f"{number}.txt", b"text %d" % number) for number in range(3 * WINDOW)]
    session = ClamdSession(str(place.scanner.clamd.socket))
    try:
        numbers = []
        for file in files:
            with file.open("rb") as opened:
                numbers.append(session.submit(opened.fileno()))
            assert len(session._under_way) <= WINDOW
        assert session.finish() == dict.fromkeys(numbers, ("clean", ""))
    finally:
        session.close()


async def test_a_clamd_that_is_killed_stopped_or_stuck_is_an_error_without_findings(
    place: ScannedDirectory,
) -> None:
    for number in range(400):
        place.put(f"many/{number}.txt", b"text %d" % number)
    place.put("shell.php", SHELL)
    clamd = place.scanner.clamd
    for number in (signal.SIGKILL, signal.SIGSTOP):
        await clamd.ensure()
        pid = clamd.find_process()
        assert pid is not None
        with pytest.raises(EngineFailed, match=r"clamd|scanner"):
            await place.scan(full=True, during=partial(os.kill, pid, number))
        if number == signal.SIGSTOP:
            os.kill(pid, signal.SIGKILL)
    # The next scan starts it again, and is complete.
    report = await place.scan(full=True)
    assert [each.path for each in report.findings] == ["wp-content/shell.php"]
    assert report.files == 401


async def test_a_clamd_that_lies_or_hangs_up_is_an_error(place: ScannedDirectory) -> None:
    """A program in its place, which says other things than clamd does."""
    place.put("note.txt", b"a note")
    await place.scan(full=True)
    path = place.scanner.clamd.socket
    kept = path.with_name("kept.sock")
    for reply in (b"", b"x\0", b"9: fd[1]: Bad FOUND\0"):
        path.rename(kept)
        try:
            async with false_clamd(path, reply):
                with pytest.raises(EngineFailed):
                    await place.scan(full=True)
        finally:
            path.unlink(missing_ok=True)
            kept.rename(path)
    assert (await place.scan(full=True)).findings == []


async def test_signatures_that_cannot_be_read_are_an_error_that_names_them(
    place: ScannedDirectory, scratch: Path
) -> None:
    place.put("shell.php", SHELL)
    for name, content in (("bad.ndb", "this is no signature\n"), ("bad.yar", "rule broken { condition: ")):
        broken = scratch / name.replace(".", "-")
        broken.mkdir()
        (broken / name).write_text(content)
        place.use_signatures(broken)
        try:
            with pytest.raises(EngineFailed):
                await place.scan(full=True)
        finally:
            place.use_signatures(None)
    own = scratch / "own"
    own.mkdir()
    (own / "own.yar").write_text('rule own_word { strings: $a = "unwanted word" condition: $a }')
    place.put("text.txt", b"an unwanted word")
    place.use_signatures(own)
    try:
        report = await place.scan(full=True)
    finally:
        place.use_signatures(None)
    assert {each.signature for each in report.findings} == {"php_eval_request", "own_word"}


async def test_a_clamd_without_memory_is_an_error(scratch: Path) -> None:
    server = ClamdServer(scratch / "clamd", memory_mb=4)
    try:
        with pytest.raises(ClamdUnavailable):
            await server.ensure()
    finally:
        await server.stop()


async def test_archives_that_expand_without_end_are_bounded_and_never_findings(
    place: ScannedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A clamd that is busy with them is not one that does not answer.
    monkeypatch.setattr(place.scanner, "_reply_seconds", REPLY_SECONDS)
    place.put("bomb.zip", _nested_zip(6, b"\0" * (8 << 20)))
    place.put("bomb.gz", gzip.compress(b"\0" * (150 << 20), 1))
    place.put("shell.php", SHELL)
    async with time_limit(120):
        report = await place.scan(full=True)
    assert [each.path for each in report.findings] == ["wp-content/shell.php"]
    assert {path for path, _ in report.failed} <= {"wp-content/bomb.zip", "wp-content/bomb.gz"}


async def test_the_process_that_reads_files_has_no_privileges_and_no_network(place: ScannedDirectory) -> None:
    place.put("note.txt", b"a note")
    seen: dict[str, str] = {}

    def look() -> None:
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError):
                if (entry / "root").readlink().is_relative_to(place.home):
                    seen["status"] = (entry / "status").read_text()
                    seen["net"] = str((entry / "ns" / "net").readlink())
                    seen["group"] = (entry / "cgroup").read_text()

    await place.scan(full=True, during=look)
    lines = dict(line.split(":\t", 1) for line in seen["status"].splitlines() if ":\t" in line)
    assert lines["Uid"].split() == [str(SCANNER_UID)] * 4
    assert lines["CapEff"].strip("0") == ""
    assert lines["NoNewPrivs"] == "1"
    assert seen["net"] != str(_OWN_NETWORK)
    groups = cgroups.list_process_files(place.scanner._cgroup)
    assert not groups or place.scanner._cgroup in seen["group"]


def _nested_zip(depth: int, content: bytes) -> bytes:
    for level in range(depth):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(1 if level == 0 else 10):
                archive.writestr(f"{number}.zip", content)
        content = made.getvalue()
    return content
