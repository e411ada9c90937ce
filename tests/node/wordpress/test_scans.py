"""Scans of real WordPress sites, with a real clamd and YARA: what is found, moved and restored."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from stead.node.drivers.driver import Refusal
from stead.protocol.work import (
    Finding,
    QuarantineFiles,
    QuarantineItem,
    QuarantineReport,
    RestoreFile,
    ScanEnvironment,
    ScanReport,
)
from stead.shared.ids import new_id
from tests.node.wordpress.wordpress_node import Site, WordPressNode

SHELL = b"<?php @eval($_POST['c']); ?>\n"
EICAR = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$" + b"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


@pytest.fixture(scope="module")
async def shared(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    yield made
    await node.remove(made)


def put(site: Site, path: str, content: bytes) -> Path:
    file = site.paths.site / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    owner = site.paths.content.stat()
    for each in (file, file.parent):
        os.chown(each, owner.st_uid, owner.st_gid)
    file.chmod(0o640)
    return file


async def scan(site: Site, *, full: bool = False, ignored: tuple[str, ...] = ()) -> ScanReport:
    work = ScanEnvironment("cms", full=full, ignored=ignored, hosts=(site.host,))
    return await site.node.runtime.scans.scan(site.assignment, work)


async def quarantine(site: Site, *found: Finding) -> tuple[list[str], QuarantineReport]:
    detections = [new_id("det") for _ in found]
    items = tuple(
        QuarantineItem(id_, each.path, each.sha256, each.signature)
        for id_, each in zip(detections, found, strict=True)
    )
    work = QuarantineFiles("cms", new_id("scan"), items)
    return detections, await site.node.runtime.scans.quarantine(site.assignment, work)


async def restore(site: Site, detection: str) -> None:
    await site.node.runtime.scans.restore(site.assignment, RestoreFile("cms", detection))


async def test_an_infected_file_is_found_moved_to_the_store_and_restored_as_it_was(shared: Site) -> None:
    clean = await scan(shared, full=True)
    assert (clean.findings, clean.failed) == ((), 0)
    assert clean.clamd.startswith("ClamAV ")
    file = put(shared, "wp-content/uploads/2026/11/cache.php", SHELL)
    test_file = put(shared, "wp-content/uploads/eicar.com", EICAR)
    os.utime(file, ns=(10**18, 10**18 + 5))
    before = file.stat()
    report = await scan(shared)
    found = {each.path: each for each in report.findings}
    assert set(found) == {"wp-content/uploads/2026/11/cache.php", "wp-content/uploads/eicar.com"}
    assert found["wp-content/uploads/eicar.com"].engine == "clamav"
    shell = found["wp-content/uploads/2026/11/cache.php"]
    assert (shell.signature, shell.engine, shell.movable) == ("php_eval_request", "yara", True)

    (detection, other), moved = await quarantine(shared, shell, found["wp-content/uploads/eicar.com"])
    assert [each.outcome for each in moved.items] == ["quarantined", "quarantined"]
    assert not file.exists()
    assert not test_file.exists()
    again = await scan(shared)
    assert (again.findings, again.held) == ((), tuple(sorted((detection, other))))
    assert (await shared.get("/")).status_code == 200

    await restore(shared, detection)
    after = file.stat()
    assert file.read_bytes() == SHELL
    assert (after.st_uid, after.st_gid, after.st_mode, after.st_mtime_ns) == (
        *(before.st_uid, before.st_gid, before.st_mode, before.st_mtime_ns),
    )
    (known,) = (await scan(shared)).findings
    assert (await scan(shared, ignored=(known.sha256,))).findings == ()
    file.unlink()


async def test_a_full_disk_keeps_no_malware_active(shared: Site) -> None:
    file = put(shared, "wp-content/uploads/full.php", SHELL)
    (found,) = (await scan(shared)).findings
    filler = shared.paths.uploads / "filler"
    with filler.open("wb") as filling, suppress(OSError):
        while True:
            filling.write(bytes(1 << 20))
            filling.flush()
    (detection,), moved = await quarantine(shared, found)
    assert [each.outcome for each in moved.items] == ["quarantined"]
    assert not file.exists()
    filler.unlink()
    await restore(shared, detection)
    assert file.read_bytes() == SHELL
    file.unlink()


async def test_unchanged_files_are_not_read_again_and_a_full_scan_reads_them(shared: Site) -> None:
    for number in range(50):
        put(shared, f"wp-content/uploads/notes/{number}.txt", b"a note %d" % number)
        os.utime(shared.paths.uploads / "notes" / f"{number}.txt", (1, 1))
    first = await scan(shared, full=True)
    assert first.scanned >= 50
    # What was changed a moment ago is read once more.
    await scan(shared)
    full = await scan(shared, full=True)
    assert full.files == first.files
    assert full.scanned >= 50


async def test_the_inventory_names_wordpress_its_plugins_and_its_themes(shared: Site) -> None:
    put(
        shared,
        "wp-content/plugins/Shop-Kit/shop.php",
        b"<?php\n/*\nPlugin Name: Shop Kit\nVersion: 1.2.3\n*/\n",
    )
    put(shared, "wp-content/plugins/single.php", b"<?php\n/* Plugin Name: Single\n * Version: 4.0-beta2 */\n")
    put(shared, "wp-content/plugins/unnamed/unnamed.php", b"<?php\n/* Plugin Name: No Version */\n")
    found = {(each.type, each.slug): each for each in (await scan(shared)).components}
    assert found["plugin", "shop-kit"].version == "1.2.3"
    assert (found["plugin", "single"].name, found["plugin", "single"].version) == ("Single", "4.0-beta2")
    assert found["plugin", "unnamed"].version == ""
    assert found["core", "wordpress"].version[0].isdigit()
    assert any(type_ == "theme" for type_, _ in found)


async def test_the_main_file_of_a_plugin_is_found_and_may_not_be_moved(shared: Site) -> None:
    code = b"<?php\n/*\nPlugin Name: Bad\nVersion: 1\n*/\neval(base64_decode('cGhwaW5mbygpOw=='));\n"
    file = put(shared, "wp-content/plugins/bad/bad.php", code)
    other = put(shared, "wp-content/plugins/bad/other.php", SHELL)
    found = {each.path: each.movable for each in (await scan(shared)).findings}
    assert found == {"wp-content/plugins/bad/bad.php": False, "wp-content/plugins/bad/other.php": True}
    for each in (file, other):
        each.unlink()


async def test_drop_ins_and_must_use_plugins_that_are_new_are_reported_until_they_are_ignored(
    shared: Site,
) -> None:
    await scan(shared)
    put(shared, "wp-content/object-cache.php", b"<?php // a cache\n")
    put(shared, "wp-content/mu-plugins/own.php", b"<?php // a plugin\n")
    found = {each.path: each for each in (await scan(shared)).findings}
    assert set(found) == {"wp-content/object-cache.php", "wp-content/mu-plugins/own.php"}
    assert {(each.signature, each.movable) for each in found.values()} == {("new_loaded_file", False)}
    ignored = tuple(each.sha256 for each in found.values())
    assert (await scan(shared, ignored=ignored)).findings == ()
    for path in found:
        (shared.paths.site / path).unlink()


async def test_rows_with_injected_code_and_new_administrators_are_found(shared: Site) -> None:
    await scan(shared)
    shared.query(
        "insert into {schema}.wp_posts (post_author, post_date, post_date_gmt, post_content, post_title,"
        " post_excerpt, to_ping, pinged, post_modified, post_modified_gmt, post_content_filtered) values"
        " (1, now(), now(), 'Hello <script src=\"https://cdn.evil.example/x.js\"></script>', 'Hi',"
        " '', '', '', now(), now(), '')"
    )
    shared.query("insert into {schema}.wp_users (user_login, user_registered) values ('wp_support', now())")
    shared.query(
        "insert into {schema}.wp_usermeta (user_id, meta_key, meta_value) select ID, 'wp_capabilities',"
        " 'a:1:{s:13:\"administrator\";b:1;}' from {schema}.wp_users where user_login = 'wp_support'"
    )
    report = await scan(shared)
    signatures = {each.signature: each for each in report.findings}
    assert set(signatures) == {"database_unknown_script", "database_new_administrator"}
    assert signatures["database_unknown_script"].path.startswith("database:posts/")
    ignored = tuple(each.sha256 for each in report.findings)
    assert (await scan(shared, ignored=ignored)).findings == ()
    shared.query("delete from {schema}.wp_posts where post_title = 'Hi'")


async def test_a_killed_clamd_leads_to_an_error_and_never_to_a_finding(shared: Site) -> None:
    for number in range(300):
        put(shared, f"wp-content/uploads/many/{number}.txt", b"text %d" % number)
    server = shared.node.runtime._scanner.clamd
    await scan(shared)
    pid = server.find_process()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    # It is started again for the next scan.
    report = await scan(shared, full=True)
    assert report.findings == ()
    (shared.node.data / "scanner" / "broken").mkdir()
    broken = shared.node.data / "scanner" / "broken"
    (broken / "bad.ndb").write_text("this is no signature\n")
    server._operator = broken
    with pytest.raises(Refusal) as refused:
        await scan(shared, full=True)
    assert refused.value.code == "scan.engine_failed"
    server._operator = None
    assert (await scan(shared)).findings == ()
