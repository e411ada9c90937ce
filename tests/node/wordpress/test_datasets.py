"""An environment gets the files and rows of another one, out of sight and then in one step."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from stead.node.drivers.driver import Refusal
from stead.protocol.work.hosting import DiscardDataset, PrepareDataset
from stead.shared.ids import EnvironmentId
from tests.node.wordpress.fingerprints import differences, fingerprint
from tests.node.wordpress.wordpress_node import Site, WordPressNode

PICTURE = bytes(range(256)) * 400


@pytest.fixture(scope="module")
async def production(node: WordPressNode) -> AsyncIterator[Site]:
    """With rows, uploads and a plugin."""
    made = await node.create()
    await made.run_php(
        'require "/srv/site/wp-load.php";'
        ' wp_insert_post(["post_title" => "From production", "post_status" => "publish",'
        f' "post_content" => "<img src=https://{made.host}/wp-content/uploads/2024/05/a.jpg>"]);'
        ' update_option("shape", ["deep" => [1, 2.5, null, true, "https://' + made.host + '/x"]]);'
        # Otherwise WordPress does the rest of it in the background.
        ' delete_post_meta_by_key("_pingme"); delete_post_meta_by_key("_encloseme");'
        ' wp_clear_scheduled_hook("do_pings");'
    )
    # The first page makes a menu.
    await made.get("/?nocache=0")
    uploads = made.paths.uploads / "2024" / "05"
    uploads.mkdir(parents=True)
    (uploads / "a.jpg").write_bytes(PICTURE)
    yield made
    await node.remove(made)


@pytest.fixture(scope="module")
async def clone(node: WordPressNode, production: Site) -> AsyncIterator[Site]:
    made = await node.copy(production, uploads=True)
    yield made
    await node.remove(made)


async def test_a_clone_serves_the_rows_and_files_of_production_at_its_own_host(
    node: WordPressNode, production: Site, clone: Site
) -> None:
    page = await clone.get("/?nocache=1")
    assert page.status_code == 200
    assert "From production" in page.text
    assert (await clone.get("/wp-content/uploads/2024/05/a.jpg")).content == PICTURE
    shape = 'require "/srv/site/wp-load.php"; echo wp_json_encode(get_option("shape")), WP_ENVIRONMENT_TYPE;'
    answer = await clone.run_php(shape)
    assert answer.startswith(f'{{"deep":[1,2.5,null,true,"https:\\/\\/{clone.host}\\/x"]')
    assert answer.endswith("staging")
    assert any("database, writing:" in line for line in node.output.lines)


async def test_neither_of_them_sees_what_the_other_changes(production: Site, clone: Site) -> None:
    before = fingerprint(production)
    await clone.run_php(
        'require "/srv/site/wp-load.php"; update_option("only", "clone");'
        ' file_put_contents("/srv/site/wp-content/uploads/2024/05/a.jpg", "changed");'
    )
    assert differences(fingerprint(production), before) == {}
    password = clone.hosted.plan.desired.secrets.database_password  # type: ignore[attr-defined]
    with pytest.raises(pymysql.MySQLError, match="denied"):
        await asyncio.to_thread(_read_as, clone, password, production.schema)


def _read_as(site: Site, password: str, schema: str) -> None:
    socket = str(site.node.databases.databases.socket)
    with (
        pymysql.connect(unix_socket=socket, user=site.schema, password=password) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"select * from `{schema}`.wp_options")


SMTP_PLUGINS = {
    "sets up SMTP, as late as possible": """
        add_action('phpmailer_init', function ($mailer) {
            $mailer->isSMTP(); $mailer->Host = '127.0.0.1'; $mailer->Port = 9; $mailer->Timeout = 1;
        }, PHP_INT_MAX);""",
    "replaces the mailer": """
        $GLOBALS['phpmailer'] = new class(true) extends PHPMailer\\PHPMailer\\PHPMailer {
            public function send() { echo 'sent by the plugin'; return true; }
        };""",
    "sends before WordPress": """
        add_filter('pre_wp_mail', function () { echo 'sent by the plugin'; return true; });""",
}


async def test_mail_of_a_clone_is_captured_also_if_a_plugin_sends_mail_in_its_own_way(
    node: WordPressNode, clone: Site
) -> None:
    load = (
        'require "/srv/site/wp-load.php"; require_once ABSPATH . WPINC . "/PHPMailer/PHPMailer.php";'
        ' require_once ABSPATH . WPINC . "/PHPMailer/Exception.php";'
    )
    for subject, plugin in SMTP_PLUGINS.items():
        message = f'["a@example.com"], "{subject}", "Hello", ["Cc: c@example.com"]'
        printed = await clone.run_php(f"{load} {plugin} var_export(wp_mail({message}));")
        assert printed == "true", subject
        mail = node.runtime.list_captured_mail()[-1]
        assert (mail.environment, mail.subject) == (clone.environment, subject)
        assert mail.recipients == ("a@example.com", "c@example.com")
        assert mail.text.strip() == "Hello"


async def test_a_refresh_replaces_everything_in_one_step_and_its_undo_brings_everything_back(
    node: WordPressNode, production: Site, clone: Site
) -> None:
    await clone.run_php('require "/srv/site/wp-load.php"; update_option("blogname", "Changed in staging");')
    before, source = fingerprint(clone), fingerprint(production)
    dataset, old = await node.prepare(clone, production.environment), clone.dataset
    assert "Changed in staging" in (await clone.get("/?nocache=2")).text
    await node.switch(clone, dataset)
    assert fingerprint(clone)["files"] == source["files"]
    assert "Changed in staging" not in (await clone.get("/?nocache=3")).text
    for _ in range(2):
        await node.runtime.datasets.discard(clone.assignment, DiscardDataset("cms", dataset))
        clone.dataset = old
        assert differences(fingerprint(clone), before) == {}
    assert "Changed in staging" in (await clone.get("/?nocache=4")).text
    await node.copy(production, clone)
    assert fingerprint(clone)["files"] == source["files"]
    assert differences(fingerprint(production), source) == {}


async def test_the_dataset_from_before_is_kept_until_the_next_change_and_then_removed(
    node: WordPressNode, production: Site, clone: Site
) -> None:
    first = clone.dataset
    await node.copy(production, clone)
    second = clone.dataset
    await node.copy(production, clone)
    await node.runtime.tidy()
    assert clone.paths.list_datasets() == {second, clone.dataset}
    known = await node.databases.databases.list_datasets(EnvironmentId(clone.environment))
    assert set(known) == {second, clone.dataset}
    assert first not in known


async def test_a_reset_is_a_new_installation(node: WordPressNode, production: Site, clone: Site) -> None:
    await node.switch(clone, await node.prepare(clone))
    page = await clone.get("/?nocache=5")
    assert (page.status_code, "From production" in page.text) == (200, False)
    assert (await clone.get("/wp-content/uploads/2024/05/a.jpg")).status_code == 404
    assert clone.query("select count(*) from {schema}.wp_users") == [(1,)]
    assert "From production" in (await production.get("/?nocache=6")).text
    await node.copy(production, clone)


async def test_a_clone_without_uploads_has_everything_else(node: WordPressNode, production: Site) -> None:
    made = await node.copy(production, uploads=False)
    assert "From production" in (await made.get("/?nocache=7")).text
    assert (await made.get("/wp-content/uploads/2024/05/a.jpg")).status_code == 404
    await node.copy(production, made)
    assert not (made.paths.uploads / "2024").exists()
    await node.remove(made)
    schemas = {
        str(name) for (name,) in production.query("select schema_name from information_schema.schemata")
    }
    assert not [name for name in schemas if name.startswith(made.environment)]
    assert not made.paths.home.exists()
    assert not made.paths.list_datasets()


async def test_content_that_does_not_fit_is_refused_and_nothing_is_left(
    node: WordPressNode, production: Site, clone: Site
) -> None:
    await node.runtime.tidy()
    before, datasets = fingerprint(clone), clone.paths.list_datasets()
    with (production.paths.uploads / "large").open("wb") as file:
        file.write(bytes(100 << 20))
    try:
        settings = node.settings(clone, disk_mb=32)
        work = PrepareDataset("cms", "large", settings, production.environment)
        with pytest.raises(Refusal) as refused:
            await node.runtime.datasets.prepare(clone.assignment, work)
    finally:
        (production.paths.uploads / "large").unlink()
    assert refused.value.code == "environment.too_large"
    await node.runtime.datasets.discard(clone.assignment, DiscardDataset("cms", "large"))
    assert (fingerprint(clone), clone.paths.list_datasets()) == (before, datasets)


async def test_the_agent_goes_on_while_large_files_are_removed_or_written_to_the_disk(
    node: WordPressNode, production: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    unlink, fsync = os.unlink, os.fsync

    def record(path: Path) -> None:
        seen[threading.current_thread() is threading.main_thread()].add(path.suffix)

    def watched_unlink(path: str | Path, **more: Any) -> None:
        record(Path(path))
        unlink(path, **more)

    def watched_fsync(descriptor: int) -> None:
        record(Path(f"/proc/self/fd/{descriptor}").readlink().with_suffix(".fsync"))
        fsync(descriptor)

    monkeypatch.setattr(os, "unlink", watched_unlink)
    monkeypatch.setattr(os, "fsync", watched_fsync)
    made = await node.copy(production, uploads=True)
    await node.copy(production, made, uploads=True)
    await node.remove(made)
    large = {".ext4", ".sql", ".fsync"}
    assert large <= seen[False]
    assert not large & seen[True]


async def test_clones_come_back_after_a_reboot(node: WordPressNode, clone: Site) -> None:
    before = fingerprint(clone)
    await node.reboot()
    await node.runtime.wake(clone.environment)
    assert "From production" in (await clone.get("/?nocache=8")).text
    assert fingerprint(clone)["files"] == before["files"]
