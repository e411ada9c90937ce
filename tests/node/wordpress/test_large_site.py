"""A large site is copied to another environment and pushed back, with every serialized value intact.

`STEAD_LARGE_POSTS` is the number of its posts. `make large` uses 200,000, with 2 GB of uploads.
"""

# ruff: noqa: E501 - PHP in long lines is easier to read
import asyncio
import itertools
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stead.node import progress
from stead.node.drivers.driver import Assignment
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.access import RunCommand
from stead.protocol.work.hosting import EnsureEnvironment, PrepareDataset
from stead.shared.ids import new_id
from tests.conftest import FIGURE
from tests.node.driver_pairs import CapturedOutput
from tests.node.wordpress.large_site import BYTES_PER_POST, FIRST_POST, LargeSite
from tests.node.wordpress.wordpress_node import CLONE, Site, WordPressNode

POSTS = int(os.environ.get("STEAD_LARGE_POSTS", "2000"))
DISK_MB = 256 + 2 * POSTS * BYTES_PER_POST // (1 << 20)
MORE_MEMORY_MB = 300
"""How much the agent may need for the work, whatever the size of the site."""
SEEN_BY_PHP = """
global $wpdb;
$seen = [];
foreach ([['options', 'option_id', 'option_value', 'option_name LIKE "large %"', 500],
          ['postmeta', 'meta_id', 'meta_value', 'meta_key = "details"', 20000]] as [$table, $key, $column, $which, $page]) {
    for ($last = 0;;) {
        $rows = $wpdb->get_results("SELECT $key AS k, $column AS v FROM {$wpdb->$table} WHERE $key > $last AND $which ORDER BY $key LIMIT $page");
        foreach ($rows as $row) {
            $value = @unserialize($row->v, ['allowed_classes' => ['stdClass']]);
            $kind = $value === false && $row->v !== 'b:0;' ? 'none' : (serialize($value) === $row->v ? 'same' : 'readable');
            $seen["$table $kind"] = ($seen["$table $kind"] ?? 0) + 1;
            $last = $row->k;
        }
        if (count($rows) < $page) break;
    }
}
ksort($seen);
echo json_encode($seen);
"""


@pytest.fixture(scope="module")
async def production(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create(disk_mb=DISK_MB)
    yield made
    await node.remove(made)


class Phases:
    """What was done, with its time."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[what] = time.monotonic() - began
        print(f"{what}: {self.seconds[what]:.1f} s", flush=True)  # noqa: T201 - with `make large` it takes long

    def __str__(self) -> str:
        return ", ".join(f"{what} {seconds:.1f} s" for what, seconds in self.seconds.items())


class Visitor:
    """Requests one page after the other, and remembers the longest wait for one."""

    def __init__(self, site: Site) -> None:
        self._site, self.longest, self.statuses = site, 0.0, set[int]()
        self._leaving = False

    async def __aenter__(self) -> "Visitor":
        self._task = asyncio.create_task(self._visit())
        return self

    async def __aexit__(self, *_: object) -> None:
        """The last request is answered, too: a short switch may be over before the first answer."""
        self._leaving = True
        await self._task

    async def _visit(self) -> None:
        for number in itertools.count():
            began = time.monotonic()
            self.statuses.add((await self._site.get(f"/?visit={number}", timeout=300)).status_code)
            self.longest = max(self.longest, time.monotonic() - began)
            if self._leaving:
                return


async def run_wp(site: Site, code: str) -> str:
    """What the code prints, run by WP-CLI."""
    output = CapturedOutput()
    task = Assignment(new_id("job"), "site_x", site.environment, output)
    work = RunCommand("cms", "cms-cli", ("eval", code), restricted=False)
    await site.node.runtime.run_command(task, work)
    return "".join(line.removeprefix("stdout: ") for line in output.lines if line.startswith("stdout: "))


@contextmanager
def limited_memory(what: str, figures: list[str]) -> Iterator[None]:
    """The agent runs in this process."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak_memory_mb()
    yield
    more = _peak_memory_mb() - before
    figures.append(f"{what}: {more:.0f} MB more memory")
    assert more < MORE_MEMORY_MB, f"{what} takes {more:.0f} MB of memory"


def _peak_memory_mb() -> float:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) / 1024


def check(large: LargeSite, site: Site, deleted: int = 0) -> None:
    assert large.find_wrong_options(site) == []
    assert large.find_wrong_blobs(site) == []
    assert large.count_right_rows(site) == large.expect_rows(deleted)
    assert large.find_wrong_uploads(site.paths.uploads) == []


@pytest.mark.timeout(900 + POSTS // 50)
async def test_a_large_site_is_cloned_and_pushed_with_every_serialized_value_intact(
    node: WordPressNode,
    production: Site,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    # Otherwise the parts of a small site are done before the first report.
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0.01)
    large, phases, figures = LargeSite(production.host, POSTS), Phases(), list[str]()
    with phases.measure("generate rows"):
        await run_in_thread(large.make_rows, production)
    with phases.measure("generate files"):
        files = await run_in_thread(large.make_uploads, production.paths.uploads)
    with phases.measure("check"):
        await run_in_thread(check, large, production)
        seen = await run_wp(production, SEEN_BY_PHP)

    # With a longer host, so that all lengths change.
    clone = Site(node, new_id("env"), f"staging-of-the-large-site-{production.host}")
    node.output.lines.clear()
    work = PrepareDataset(
        *("cms", new_id("job")[-14:], node.settings(clone, **CLONE, disk_mb=DISK_MB), production.environment),
        hosts=(production.host,),
    )
    async with Visitor(production) as visitor:
        with phases.measure("clone"), limited_memory("clone", figures):
            await node.runtime.datasets.prepare(clone.assignment, work)
    assert visitor.statuses == {200}
    figures.append(f"longest wait of a visitor of production meanwhile {visitor.longest:.1f} s")
    with phases.measure("start the clone"):
        await node.ensure(clone, dataset=work.dataset, **CLONE, disk_mb=DISK_MB)
    clone.dataset = work.dataset
    await node.announce(clone)
    with phases.measure("check the clone"):
        await run_in_thread(check, large, clone)
        assert await run_wp(clone, SEEN_BY_PHP) == seen
    await run_in_thread(check, large, production)

    await run_wp(
        clone,
        "update_option('made in staging', ['url' => home_url('/x'), 'list' => [1, null, home_url('/y')]]);"
        " wp_insert_post(['import_id' => 999999999, 'post_title' => 'New', 'post_status' => 'publish']);"
        f" wp_delete_post({FIRST_POST} + 2, true); file_put_contents('/srv/site/wp-content/uploads/new.txt', 'x');",
    )
    dataset, settings = new_id("job")[-14:], node.settings(production, disk_mb=DISK_MB)
    pushed = PrepareDataset("cms", dataset, settings, clone.environment, hosts=(clone.host,), push="full")
    with phases.measure("prepare the push"), limited_memory("push", figures):
        await node.runtime.datasets.prepare(production.assignment, pushed)
    async with Visitor(production) as visitor:
        with phases.measure("switch"):
            served = EnsureEnvironment("cms", None, settings, dataset, "full")
            await node.runtime.ensure_environment(production.assignment, served)
    production.dataset = dataset
    assert visitor.statuses == {200}
    figures.append(f"longest wait of a visitor during the switch {visitor.longest:.1f} s")
    said = "\n".join(node.output.lines)
    for part in (
        "files",
        "database, reading",
        "database, writing",
        "rows with URLs",
        "files of production, reading",
    ):
        assert re.search(rf"^{part}: [\d.]+( of about [\d.]+)? MB$", said, re.MULTILINE), part
    assert re.search(r"production was stopped for [\d.]+ s", said)
    with phases.measure("check production"):
        await run_in_thread(check, large, production, 1)
        changed = json.loads(seen)
        changed["postmeta same"] -= 1
        assert json.loads(await run_wp(production, SEEN_BY_PHP)) == changed
    shown = await run_wp(
        production,
        "echo json_encode([get_option('made in staging'), get_post(999999999)->post_title,"
        " file_get_contents('/srv/site/wp-content/uploads/new.txt')]);",
    )
    here = f"https://{production.host}"
    assert json.loads(shown) == [{"url": f"{here}/x", "list": [1, None, f"{here}/y"]}, "New", "x"]
    record_property(
        FIGURE,
        f"{POSTS} posts, {files} files with {POSTS * BYTES_PER_POST >> 20} MB, {seen}: {phases};"
        f" {'; '.join(figures)}",
    )
    for line in node.output.lines:
        if not line.endswith("MB"):
            record_property(FIGURE, f"  {line}")
    await node.remove(clone)
