"""Scans of real WordPress sites, with a real clamd and YARA: what is found, moved and restored."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec
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


async def test_the_main_file_of_a_plugin_that_the_site_uses_may_not_be_moved(shared: Site) -> None:
    code = b"<?php\n/*\nPlugin Name: Bad\nVersion: 1\n*/\neval(base64_decode('cGhwaW5mbygpOw=='));\n"
    paths = [f"wp-content/plugins/bad/{name}.php" for name in ("bad", "unused", "other")]
    files = [put(shared, path, code) for path in paths[:2]] + [put(shared, paths[2], SHELL)]
    where = "where option_name = 'active_plugins'"
    ((before,),) = shared.query(f"select option_value from {{schema}}.wp_options {where}")
    active = 'a:1:{i:0;s:11:"bad/bad.php";}'
    shared.query(f"update {{schema}}.wp_options set option_value = '{active}' {where}")
    try:
        found = {each.path: each.movable for each in (await scan(shared)).findings}
    finally:
        shared.query(f"update {{schema}}.wp_options set option_value = '{before}' {where}")
        for each in files:
            each.unlink()
    # A comment at its beginning makes no file indispensable.
    assert found == dict(zip(paths, (False, True, True), strict=True))


async def test_a_file_that_the_site_needs_is_replaced_by_the_one_of_its_image(shared: Site) -> None:
    file = max((shared.paths.content / "themes").glob("*/functions.php"))
    good, before = file.read_bytes(), file.stat()
    file.write_bytes(good + SHELL.removeprefix(b"<?php").removesuffix(b"?>\n") + b"\n")
    (found,) = (await scan(shared)).findings
    assert (found.path, found.movable) == (f"wp-content/{file.relative_to(shared.paths.content)}", True)
    (detection,), moved = await quarantine(shared, found)
    assert [(each.outcome, each.replaced) for each in moved.items] == [("quarantined", True)]
    after = file.stat()
    assert file.read_bytes() == good
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)
    assert (await scan(shared)).findings == ()
    assert (await shared.get("/")).status_code == 200
    # Only the copy that was put there is replaced by a restored file.
    await restore(shared, detection)
    assert b"eval(" in file.read_bytes()
    file.write_bytes(good)


async def test_what_a_customer_puts_in_the_place_of_a_table_sees_nothing_of_others(shared: Site) -> None:
    """The view runs with the rights of whoever reads it."""
    await scan(shared)
    shared.query("rename table {schema}.wp_posts to {schema}.kept_posts")
    shared.query(
        "create definer = '" + shared.schema + "' sql security invoker view {schema}.wp_posts as"
        " select group_concat(distinct table_schema) as ID, 'post' as post_type,"
        " '<script src=https://evil.example/x.js></script>' as post_content from information_schema.tables"
    )
    try:
        (found,) = (await scan(shared)).findings
    finally:
        shared.query("drop view {schema}.wp_posts")
        shared.query("rename table {schema}.kept_posts to {schema}.wp_posts")
    assert found.path.startswith("database:posts/")
    assert "mysql" not in found.path
    assert shared.schema in found.path


async def test_a_database_that_cannot_be_read_does_not_hide_infected_files(shared: Site) -> None:
    await scan(shared)
    file = put(shared, "wp-content/uploads/hidden.php", SHELL)
    where = "where option_name = 'siteurl'"
    ((address,),) = shared.query(f"select option_value from {{schema}}.wp_options {where}")
    shared.query(f"update {{schema}}.wp_options set option_value = 'http://[' {where}")
    shared.query("rename table {schema}.wp_posts to {schema}.kept_posts")
    shared.query("create view {schema}.wp_posts as select * from {schema}.kept_posts")
    shared.query("rename table {schema}.kept_posts to {schema}.moved_posts")
    try:
        report = await scan(shared)
    finally:
        shared.query("drop view {schema}.wp_posts")
        shared.query("rename table {schema}.moved_posts to {schema}.wp_posts")
        shared.query(f"update {{schema}}.wp_options set option_value = '{address}' {where}")
        file.unlink()
    assert {each.signature for each in report.findings} == {"php_eval_request", "database_changed_address"}
    assert report.failed == 1
    assert report.failures[0].startswith("database:posts/*: MariaDB refused to read it")


async def test_a_report_fits_into_a_message_whatever_names_a_customer_chooses(shared: Site) -> None:
    name = "\N{GRINNING FACE}" * 200
    for number in range(500):
        header = f"<?php\n/*\nPlugin Name: {name}\nVersion: 1.{number}\n*/\n"
        put(shared, f"wp-content/plugins/a{number}.php", header.encode())
    report = await scan(shared)
    assert 200 < len(report.components) < 500
    assert len(msgspec.msgpack.encode(report)) < 300_000
    for file in (shared.paths.content / "plugins").glob("a*.php"):
        file.unlink()


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


async def test_a_site_says_when_its_plugins_were_changed_in_wordpress_itself(shared: Site) -> None:
    load = 'require "/srv/site/wp-load.php"; require_once ABSPATH . "wp-admin/includes/plugin.php";'
    await shared.run_php(f'{load} update_option("blogname", "Another name");')
    assert shared.assignment.environment not in shared.node.runtime.list_changed_components()
    put(shared, "wp-content/plugins/small.php", b"<?php\n/* Plugin Name: Small\n * Version: 1 */\n")
    await shared.run_php(f'{load} activate_plugin("small.php"); deactivate_plugins("small.php");')
    assert shared.assignment.environment in shared.node.runtime.list_changed_components()
