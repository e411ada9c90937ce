# ruff: noqa: E501 - PHP in one line is easier to read
"""The files and rows of an environment become those of production, and what visitors of production did stays."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stead.node.databases.names import schema_name
from stead.node.drivers.driver import Refusal
from stead.protocol.work.hosting import DiscardDataset, EnsureEnvironment, PrepareDataset, PushMode
from stead.shared.ids import EnvironmentId, new_id
from tests.node.harness import until
from tests.node.wordpress.wordpress_node import Site, WordPressNode

LOAD = 'require "/srv/site/wp-load.php";'


@pytest.fixture(scope="module")
async def production(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    await made.run_php(f'{LOAD} update_option("shape", ["u" => "https://{made.host}/x"]);')
    (made.paths.uploads / "both.txt").write_text("production")
    yield made
    await node.remove(made)


@pytest.fixture(scope="module")
async def clone(node: WordPressNode, production: Site) -> AsyncIterator[Site]:
    made = await node.copy(production, uploads=True)
    yield made
    await node.remove(made)


def state_of(site: Site) -> dict[str, Any]:
    """All rows and files that production serves, except what WordPress writes without a request."""
    spec = site.node.runtime.environments.get(site.environment).spec
    site.dataset = spec.datasets.current
    schema = schema_name(EnvironmentId(site.environment), spec.datasets.schema)
    tables = [str(name) for (name,) in site.query(f"show tables in `{schema}`")]
    unstable = " where option_name not like '%transient%' and option_name not in ('cron', 'recovery_keys')"
    rows = {
        name: site.query(
            f"select * from `{schema}`.`{name}`{unstable if name == 'wp_options' else ''} order by 1"
        )
        for name in tables
    }
    files = {
        str(path.relative_to(site.paths.content)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in site.paths.content.rglob("*")
        if path.is_file() and not path.name.startswith("run-")
    }
    return {"rows": rows, "files": files}


def differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Rows and files that only one of them has."""
    rows = {
        name: [
            row for row in (*one["rows"][name], *other["rows"][name]) if not _in_both(row, name, one, other)
        ]
        for name in one["rows"]
    }
    return {
        name: found
        for name, found in (rows | {"files": one["files"].items() ^ other["files"].items()}).items()
        if found
    }


def _in_both(row: object, table: str, one: dict[str, Any], other: dict[str, Any]) -> bool:
    return row in one["rows"][table] and row in other["rows"][table]


async def prepare(node: WordPressNode, production: Site, clone: Site, mode: PushMode) -> str:
    dataset = new_id("job")[-14:]
    work = PrepareDataset(
        "cms", dataset, node.settings(production), clone.environment, hosts=(clone.host,), push=mode
    )
    await node.runtime.datasets.prepare(production.assignment, work)
    return dataset


async def switch(node: WordPressNode, production: Site, dataset: str, mode: PushMode) -> None:
    work = EnsureEnvironment("cms", None, node.settings(production), dataset, mode)
    await node.runtime.ensure_environment(production.assignment, work)
    production.dataset = node.runtime.environments.get(production.environment).spec.datasets.current


async def discard(node: WordPressNode, production: Site, dataset: str) -> None:
    await node.runtime.datasets.discard(production.assignment, DiscardDataset("cms", dataset))
    production.dataset = node.runtime.environments.get(production.environment).spec.datasets.current


@asynccontextmanager
async def visited(site: Site) -> AsyncIterator[list[int]]:
    """Requests one after the other; the statuses of the answers."""
    statuses: list[int] = []

    async def visit() -> None:
        while True:
            statuses.append((await site.get(f"/?visit={len(statuses)}")).status_code)

    task = asyncio.create_task(visit())
    try:
        yield statuses
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_full_push_replaces_content_and_keeps_what_visitors_did(
    node: WordPressNode, production: Site, clone: Site
) -> None:
    await clone.run_php(
        f'{LOAD} update_option("blogname", "Made in staging");'
        f' update_option("shape", ["u" => "https://{clone.host}/y", "n" => 1]);'
        ' wp_insert_post(["import_id" => 500, "post_title" => "New page", "post_type" => "page", "post_status" => "publish"]);'
        ' file_put_contents("/srv/site/wp-content/uploads/both.txt", "staging");'
        ' mkdir("/srv/site/wp-content/plugins/fresh"); file_put_contents("/srv/site/wp-content/plugins/fresh/a.txt", "x");'
    )
    await production.run_php(
        f'{LOAD} wp_insert_comment(["comment_post_ID" => 1, "comment_content" => "Nice!"]);'
        ' wp_insert_post(["import_id" => 400, "post_title" => "Order", "post_type" => "shop_order", "post_status" => "publish"]);'
        ' update_post_meta(400, "total", "9"); file_put_contents("/srv/site/wp-content/uploads/invoice.txt", "1");'
    )
    before = state_of(production)
    node.output.lines.clear()
    dataset = await prepare(node, production, clone, "full")
    assert state_of(production) == before, "nothing has changed yet"
    said = "\n".join(node.output.lines)
    assert "production has 1 new or changed comments: they are kept" in said
    assert "production has 1 new or changed posts of the type shop_order: they are kept" in said
    assert "verified: the copy of production's database has" in said
    # A visitor between the preparation and the switch.
    await production.run_php(
        f'{LOAD} wp_insert_comment(["comment_post_ID" => 1, "comment_content" => "Late!"]);'
    )
    # The first visitors make WordPress write options.
    for number in range(3):
        assert (await production.get(f"/?warm={number}")).status_code == 200
    late = state_of(production)
    async with visited(production) as statuses:
        await switch(node, production, dataset, "full")
        count = len(statuses)

        async def are_more() -> bool | None:
            return True if len(statuses) >= count + 2 else None

        await until(are_more)
    assert set(statuses) == {200}
    page = (await production.get("/?nocache=1")).text
    assert "Made in staging" in page
    shown = await production.run_php(
        f'{LOAD} echo wp_json_encode([get_option("shape"), get_option("blog_public"), get_post(500)->post_title,'
        ' get_post_meta(400, "total", true), wp_count_comments()->total_comments, WP_ENVIRONMENT_TYPE,'
        ' file_get_contents("/srv/site/wp-content/uploads/both.txt"), file_get_contents("/srv/site/wp-content/uploads/invoice.txt"),'
        ' is_file("/srv/site/wp-content/plugins/fresh/a.txt")]);'
    )
    expected = f'[{{"u":"https:\\/\\/{production.host}\\/y","n":1}},"1","New page","9",3,"production","staging","1",true]'
    assert shown == expected
    for _ in range(2):
        await discard(node, production, dataset)
        assert differences(late, state_of(production)) == {}, "the way back is complete"
    assert "Made in staging" not in (await production.get("/?nocache=2")).text
    assert await production.run_php(f'{LOAD} var_export(update_option("again", 1));') == "true"


async def test_files_and_rows_can_be_pushed_separately(
    node: WordPressNode, production: Site, clone: Site
) -> None:
    files = await prepare(node, production, clone, "files")
    await production.run_php(f'{LOAD} update_option("written", "during the push");')
    before = state_of(production)
    await switch(node, production, files, "files")
    after = state_of(production)
    assert after["rows"] == before["rows"]
    assert after["files"]["plugins/fresh/a.txt"]
    assert after["files"]["uploads/invoice.txt"] == before["files"]["uploads/invoice.txt"]
    rows = await prepare(node, production, clone, "db")
    await production.run_php('file_put_contents("/srv/site/wp-content/uploads/late.txt", "x");')
    await switch(node, production, rows, "db")
    assert "Made in staging" in (await production.get("/?nocache=3")).text
    assert state_of(production)["files"] == after["files"] | {
        "uploads/late.txt": hashlib.sha256(b"x").hexdigest()
    }
    await discard(node, production, rows)
    assert state_of(production)["rows"] == before["rows"]
    page = await production.get("/?nocache=4")
    assert page.status_code == 200
    assert "Made in staging" not in page.text


async def test_a_refused_switch_leaves_production_as_it_was(
    node: WordPressNode, production: Site, clone: Site
) -> None:
    dataset = await prepare(node, production, clone, "db")
    await production.run_php(
        f'{LOAD} wp_insert_post(["import_id" => 500, "post_title" => "Order", "post_type" => "shop_order", "post_status" => "publish"]);'
    )
    before = state_of(production)
    with pytest.raises(Refusal, match="refresh the environment"):
        await switch(node, production, dataset, "db")
    assert state_of(production) == before
    assert await production.run_php(f'{LOAD} var_export(update_option("alive", 1));') == "true"
    await discard(node, production, dataset)
    assert (await production.get("/?nocache=5")).status_code == 200
