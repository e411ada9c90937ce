"""WordPress environments on a node survive restarts, crashes and full disks, and leave nothing behind."""

import asyncio
import io
import os
import signal
import time
import zipfile

import msgspec
import pymysql
import pytest

from stead.node.containers import cgroups
from stead.node.containers.disks import is_mounted, unmount_below
from stead.node.drivers.driver import Refusal
from stead.node.drivers.layout import edge_store
from stead.node.feed.record_store import RecordChange, RecordStore
from stead.node.hosting.environment import WakeFailed
from stead.node.hosting.wake_budget import NoRoom
from stead.node.images.image_store import ImageStore
from stead.protocol.edge_records import EnvironmentRecord, ServingState, environment_key
from stead.protocol.work.hosting import EnsureEnvironment, RestartEnvironment, SuspendEnvironment
from tests.node.harness import kill_processes, until
from tests.node.wordpress.wordpress_node import PASSWORD, REGION, Site, WordPressNode, nonce_in

PATIENCE = 60.0


async def test_when_the_command_is_done_the_first_page_is_served(site: Site):
    page = await site.get()
    assert page.status_code == 200
    assert "A Site" in page.text
    assert f"http://{site.host}/" in page.text


async def test_the_administrator_signs_in_and_publishes_a_post(site: Site):
    async with site.client() as browser:
        assert (await site.sign_in(browser)).status_code == 302
        editor = await browser.get("/wp-admin/post-new.php")
        assert editor.status_code == 200
        nonce = (await browser.get("/wp-admin/admin-ajax.php?action=rest-nonce")).text
        made = await browser.post(
            "/?rest_route=/wp/v2/posts",
            json={"title": "Hello node", "content": "First words", "status": "publish"},
            headers={"x-wp-nonce": nonce},
        )
        assert made.status_code == 201, made.text
    assert "Hello node" in (await site.get("/?nocache=1")).text


async def test_a_plugin_and_a_picture_are_uploaded(site: Site):
    async with site.client() as browser:
        await site.sign_in(browser)
        form = (await browser.get("/wp-admin/plugin-install.php?tab=upload")).text
        installed = await browser.post(
            "/wp-admin/update.php?action=upload-plugin",
            data={"_wpnonce": nonce_in(form, "_wpnonce"), "install-plugin-submit": "Install Now"},
            files={"pluginzip": ("greeting.zip", _plugin_archive(), "application/zip")},
        )
        assert "Plugin installed successfully" in installed.text, installed.text[-3000:]
        nonce = (await browser.get("/wp-admin/admin-ajax.php?action=rest-nonce")).text
        picture = await browser.post(
            "/?rest_route=/wp/v2/media",
            content=_PIXEL,
            headers={
                "x-wp-nonce": nonce,
                "content-type": "image/png",
                "content-disposition": 'attachment; filename="dot.png"',
            },
        )
        assert picture.status_code == 201, picture.text
    assert (site.paths.content / "plugins" / "greeting" / "greeting.php").exists()
    address = picture.json()["source_url"].partition(site.host)[2]
    served = await site.get(address)
    assert (served.status_code, served.content) == (200, _PIXEL)


async def test_files_are_served_without_waking_the_site(site: Site):
    await site.hosted.sleep()
    style = await site.get("/wp-includes/css/dashicons.min.css")
    assert (style.status_code, style.headers["content-type"]) == (200, "text/css; charset=utf-8")
    theme = next(site.paths.content.glob("themes/*/style.css")).relative_to(site.paths.site)
    assert (await site.get(f"/{theme}")).status_code == 200
    assert (await site.get("/wp-content/uploads/missing.jpg")).status_code == 404
    assert site.hosted.state == "asleep"


async def test_the_first_visitor_wakes_a_sleeping_site_and_is_answered(site: Site):
    await site.hosted.sleep()
    pages = await asyncio.gather(*(site.get("/?nocache=2") for _ in range(10)))
    assert {page.status_code for page in pages} == {200}
    assert site.hosted.state == "awake"


async def test_a_restart_of_the_agent_does_not_touch_running_sites(node: WordPressNode, site: Site):
    await site.get("/?nocache=3")
    before = cgroups.processes(site.hosted.plan.container.cgroup)
    await node.stop_agent()
    assert (await site.get("/?nocache=4")).status_code == 200
    await node.start_agent()
    await node.runtime.wake(site.environment)
    assert before & cgroups.processes(site.hosted.plan.container.cgroup)
    assert (await site.get("/?nocache=5")).status_code == 200


async def test_after_a_reboot_every_site_comes_back_asleep_and_answers(node: WordPressNode, site: Site):
    await site.run_php('file_put_contents("/srv/site/wp-content/uploads/kept.txt", "kept");')
    await node.reboot()
    seen: set[int] = set()

    async def answers() -> bool | None:
        seen.add((await site.get("/?nocache=6")).status_code)
        return 200 in seen or None

    await until(answers, PATIENCE)
    assert seen <= {200, 500, 502, 503}  # never 404: search engines would forget the site
    assert (await site.get("/wp-content/uploads/kept.txt")).text == "kept"
    assert site.query("select count(*) from {schema}.wp_posts")[0][0]


async def test_a_removed_site_leaves_nothing_and_its_host_can_be_used_again(node: WordPressNode):
    site = await node.create()
    await site.get()
    cgroup = site.hosted.plan.container.cgroup
    await node.remove(site)
    await node.remove(site)
    assert not cgroups.processes(cgroup)
    assert not site.paths.home.exists()
    assert not site.paths.disk_file.exists()
    assert not site.paths.memory.exists()
    assert not is_mounted(site.paths.disk)
    schemas = site.query("select schema_name from information_schema.schemata")
    assert (site.environment,) not in schemas
    await node.ensure(site)
    assert (await site.get("/?nocache=7")).status_code == 200
    await node.remove(site)


async def test_a_suspended_site_has_no_process_until_it_is_ensured_again(node: WordPressNode, site: Site):
    await site.get("/?nocache=20")
    cgroup, password = site.hosted.plan.container.cgroup, _database_password(site)
    for _ in range(2):
        await node.runtime.suspend_environment(site.assignment, SuspendEnvironment("cms"))
        assert not cgroups.processes(cgroup)
    assert not _can_sign_in(node, site, password)
    assert (await site.get("/?nocache=21")).status_code == 502
    await node.stop_agent()
    await node.start_agent()
    with pytest.raises(WakeFailed):
        await node.runtime.wake(site.environment)
    assert not cgroups.processes(cgroup)
    await node.ensure(site, admin_password="")
    assert (await site.get("/?nocache=22")).status_code == 200
    assert _can_sign_in(node, site, password)


async def test_a_site_that_was_suspended_while_its_node_was_lost_is_suspended_when_the_node_is_back(
    node: WordPressNode, site: Site
):
    await node.runtime.wake(site.environment)
    minute, now = 60.0, time.time()
    store = RecordStore(edge_store(node.data))

    async def announce(state: ServingState, *, ago: float, changed_ago: float) -> str:
        """What becomes of the site if its last command and the announcement were so long ago."""
        record = EnvironmentRecord("site_x", "node", runtime="cms", state=state)
        key, at = environment_key(REGION, site.environment), int((now - ago) * 1e9)
        store.apply([RecordChange(key, 1, at, msgspec.json.encode(record))], last=True)
        node.runtime.environments.state._database.execute(
            "update environments set changed_at = ? where environment = ?",
            (now - changed_ago, site.environment),
        )
        await node.runtime.upkeep.suspend_forgotten()
        return site.hosted.state

    assert await announce("serving", ago=60 * minute, changed_ago=90 * minute) == "awake"
    # Its job may still be undone, and a node that was told later knows better.
    assert await announce("suspended", ago=5 * minute, changed_ago=90 * minute) == "awake"
    assert await announce("suspended", ago=60 * minute, changed_ago=30 * minute) == "awake"
    assert await announce("suspended", ago=60 * minute, changed_ago=90 * minute) == "suspended"
    assert not cgroups.processes(site.paths.container.cgroup)
    await node.ensure(site, admin_password="")
    await node.runtime.upkeep.suspend_forgotten()
    assert (await site.get("/?nocache=27")).status_code == 200
    store.close()


async def test_a_suspended_site_and_one_that_did_not_come_back_are_removed_completely(node: WordPressNode):
    suspended, broken = await node.create(), await node.create()
    await broken.get("/?nocache=23")
    await node.runtime.suspend_environment(suspended.assignment, SuspendEnvironment("cms"))
    await node.stop_agent()
    content = broken.paths.site.rename(broken.paths.disk / "moved")
    broken.paths.site.write_text("not a directory")
    await node.start_agent()
    assert content.exists()
    for site in (suspended, broken):
        cgroup = site.paths.container.cgroup
        await node.remove(site)
        assert not cgroups.processes(cgroup)
        assert cgroup not in cgroups.find("stead-wp-")
        assert not any(path.exists() for path in (site.paths.home, site.paths.disk_file, site.paths.memory))
        assert not site.query(f"select 1 from mysql.global_priv where user = '{site.environment}'")
        assert not site.query(
            f"select 1 from information_schema.schemata where schema_name = '{site.environment}'"
        )


async def test_a_node_promises_no_more_disk_space_than_its_overcommit_allows(
    node: WordPressNode, site: Site, monkeypatch: pytest.MonkeyPatch
):
    before = node.runtime.room_mb()
    other = await node.create(disk_mb=300)
    assert before - node.runtime.room_mb() == 2 * 300
    await node.remove(other)
    assert node.runtime.room_mb() == before
    monkeypatch.setattr(node.runtime.environments, "_disk_overcommit", 0.0)
    with pytest.raises(Refusal) as refused:
        await node.create()
    assert refused.value.code == "node.short_of_space"
    await node.ensure(site)  # what is promised is kept


async def test_a_visitor_of_a_busy_node_is_asked_to_come_back(
    node: WordPressNode, site: Site, monkeypatch: pytest.MonkeyPatch
):
    async def has_no_room(_: object) -> None:
        raise NoRoom("no room")

    await site.hosted.sleep()
    monkeypatch.setattr(node.hosts.budget, "_wait_for_room", has_no_room)
    refused = await site.get("/?nocache=24")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
    large = await site.get("/?nocache=25", method="POST", content=b"x" * (8 << 20))
    assert large.status_code in (502, 503)
    monkeypatch.undo()
    assert (await site.get("/?nocache=26")).status_code == 200


async def test_work_that_would_start_a_site_on_a_busy_node_is_refused(
    node: WordPressNode, site: Site, monkeypatch: pytest.MonkeyPatch
):
    async def has_no_room(_: object) -> None:
        raise NoRoom("no room")

    await site.hosted.sleep()
    monkeypatch.setattr(node.hosts.budget, "_wait_for_room", has_no_room)
    with pytest.raises(Refusal) as refused:
        await node.ensure(site)
    assert refused.value.code == "node.unavailable"
    with pytest.raises(Refusal) as refused:
        await node.runtime.restart_environment(site.assignment, RestartEnvironment("cms"))
    assert refused.value.code == "node.unavailable"
    monkeypatch.undo()
    await node.ensure(site)


async def test_ensuring_twice_changes_nothing(node: WordPressNode, site: Site):
    before = site.query("select user_pass from {schema}.wp_users")
    # The first process, which ends with its container. Those that serve visitors come and go.
    first = min(cgroups.processes(site.hosted.plan.container.cgroup))
    await node.ensure(site, admin_password="another password entirely")
    assert site.query("select user_pass from {schema}.wp_users") == before
    assert first in cgroups.processes(site.hosted.plan.container.cgroup)


async def test_other_limits_take_effect_without_losing_a_request(node: WordPressNode, site: Site):
    asked = [asyncio.create_task(site.get(f"/?nocache=8{n}")) for n in range(5)]
    await node.ensure(site, workers=2, memory_mb=300)
    assert {(await each).status_code for each in asked} == {200}
    assert "pm.max_children = 2" in (site.paths.memory / "fpm.conf").read_text()
    group = site.hosted.plan.container.cgroup
    assert (cgroups.ROOT / f"memory{group}/memory.limit_in_bytes").read_text().strip() == str(300 << 20)


async def test_a_command_without_settings_and_an_unknown_php_are_refused(node: WordPressNode, site: Site):
    with pytest.raises(Refusal) as refused:
        await node.runtime.ensure_environment(site.assignment, EnsureEnvironment("cms"))
    assert refused.value.code == "environment.malformed"
    with pytest.raises(Refusal) as refused:
        await node.ensure(site, php="8.9")
    assert refused.value.code == "runtime.unsupported"
    assert (await site.get("/?nocache=9")).status_code == 200


async def test_an_interrupted_installation_is_finished_by_the_next_attempt(node: WordPressNode):
    site = Site(node, "env_01k9zy3v7d00r3m8w5x2t6b4qz", "interrupted.example.com")
    for pause in (0.05, 0.3, 0.6):
        making = asyncio.create_task(node.ensure(site))
        await asyncio.sleep(pause)
        making.cancel()
        await asyncio.wait({making})
    await node.ensure(site)
    await node.announce(site)
    assert (await site.get()).status_code == 200
    async with site.client() as browser:
        assert (await site.sign_in(browser)).status_code == 302
    assert site.query("select count(*) from {schema}.wp_users") == [(1,)]
    await node.remove(site)


async def test_a_killed_php_is_started_again_by_the_next_visitor(site: Site):
    await site.get("/?nocache=10")
    kill_processes(site.hosted.plan.container.cgroup)

    async def answers() -> bool | None:
        return (await site.get("/?nocache=11")).status_code == 200 or None

    await until(answers, PATIENCE)


async def test_a_killed_mariadb_loses_no_row_and_the_site_answers_again(node: WordPressNode, site: Site):
    server = node.databases.server
    assert server is not None
    await site.run_php(
        'require "/srv/site/wp-load.php"; for ($i = 0; $i < 50; $i++) update_option("kept_$i", $i);'
    )
    pid = server.find_process()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    async def answers() -> bool | None:
        return (await site.get("/?nocache=12")).status_code == 200 or None

    await until(answers, PATIENCE)
    assert site.query("select count(*) from {schema}.wp_options where option_name like 'kept%'") == [(50,)]


async def test_a_full_disk_of_one_site_hurts_no_other(node: WordPressNode, site: Site):
    other = await node.create()
    printed = await site.run_php(
        '$file = fopen("/srv/site/wp-content/uploads/big", "w"); $chunk = str_repeat("x", 1 << 20);'
        " for ($i = 0; $i < 400 && @fwrite($file, $chunk) === 1 << 20; $i++); echo $i;"
    )
    assert 100 < int(printed) < 256
    assert (await other.get("/?nocache=13")).status_code == 200
    assert (await site.get("/?nocache=14")).status_code == 200
    assert other.paths.disk.stat().st_dev != site.paths.disk.stat().st_dev
    await node.remove(other)


async def test_a_request_that_uses_all_memory_ends_and_the_next_one_is_answered(site: Site):
    path = site.put_script(
        "memory.php", 'ini_set("memory_limit", -1); $all = []; for (;;) $all[] = str_repeat("x", 1 << 20);'
    )
    assert (await site.get(path)).status_code >= 500

    async def answers() -> bool | None:
        return (await site.get("/?nocache=15")).status_code == 200 or None

    await until(answers, PATIENCE)


async def test_the_log_is_kept_and_bounded(node: WordPressNode, site: Site):
    await site.run_php('error_log("a word for the log");')
    assert "a word for the log" in site.paths.log.read_text()
    await site.run_php('for ($i = 0; $i < 20000; $i++) error_log(str_repeat("y", 1000));')
    await site.hosted.sleep()
    await site.get("/?nocache=16")

    async def is_short() -> bool | None:
        return site.paths.log.stat().st_size < 12 << 20 or None

    await until(is_short, PATIENCE)
    assert site.paths.log.stat().st_size > 1 << 20


async def test_the_password_is_nowhere_on_the_node(node: WordPressNode, site: Site):
    await site.get()
    files = [*node.data.glob("hosting/*"), *site.paths.memory.rglob("*"), *node.data.glob("disks/*")]
    for file in files:
        if file.is_file() and file.suffix != ".ext4":
            assert PASSWORD.encode() not in file.read_bytes(), file
    config = (site.paths.memory / "wp-config.php").read_text()
    password = config.partition("'DB_PASSWORD', '")[2].partition("'")[0]
    assert password
    for file in node.data.glob("hosting/*.sqlite*"):
        assert password.encode() not in file.read_bytes()


async def test_a_site_whose_disk_is_lost_is_not_installed_anew(node: WordPressNode):
    site = await node.create()
    await site.hosted.sleep()
    await node.stop_agent()
    await asyncio.to_thread(unmount_below, site.paths.disk)
    site.paths.disk_file.unlink()
    await node.start_agent()
    for number in range(2):
        with pytest.raises(Refusal) as refused:
            await node.ensure(site, admin_password="")
        assert refused.value.code == "cms.data_lost"
        page = await site.get(f"/?nocache={number}")
        assert (page.status_code, page.headers["x-stead-reason"]) == (503, "data_lost")
        await node.remove(site)
    assert (await site.get("/?nocache=2")).headers["x-stead-reason"] == "not_installed"


async def test_nobody_can_install_wordpress_from_outside(site: Site):
    for path in ("/wp-admin/install.php", "/wp-admin/setup-config.php", "/wp-admin/install.php?step=2"):
        assert (await site.get(path)).status_code == 403


async def test_images_are_held_while_a_site_uses_them(node: WordPressNode):
    images = ImageStore()
    site = await node.create()
    assert {site.environment} <= set(images.holders(images.find("wordpress")))
    assert {site.environment} <= set(images.holders(images.find("php8.2")))
    await node.remove(site)
    assert site.environment not in images.holders(images.find("wordpress"))


async def test_restarting_replaces_the_processes(node: WordPressNode, site: Site):
    await site.get("/?nocache=17")
    before = cgroups.processes(site.hosted.plan.container.cgroup)
    await node.runtime.restart_environment(site.assignment, RestartEnvironment("cms"))
    assert not before & cgroups.processes(site.hosted.plan.container.cgroup)
    assert (await site.get("/?nocache=18")).status_code == 200


def _database_password(site: Site) -> str:
    config = (site.paths.memory / "wp-config.php").read_text()
    return config.partition("'DB_PASSWORD', '")[2].partition("'")[0]


def _can_sign_in(node: WordPressNode, site: Site, password: str) -> bool:
    socket = str(node.databases.databases.socket)
    try:
        pymysql.connect(unix_socket=socket, user=site.environment, password=password).close()
    except pymysql.MySQLError:
        return False
    return True


def _plugin_archive() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("greeting/greeting.php", "<?php\n/*\nPlugin Name: Greeting\n*/\n")
    return archive.getvalue()


_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcffff3f03"
    "0005fe02fea735814d0000000049454e44ae426082"
)
