"""An attacker who runs PHP in one site reaches nothing of another site, of the node, or of the network."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from stead.node.containers import cgroups
from tests.node.harness import kill_processes, until
from tests.node.wordpress.attempts import ATTEMPTS, PREPARE, connects, queries, reads, writes
from tests.node.wordpress.wordpress_node import Site, WordPressNode
from tests.percentiles import p99


@pytest.fixture(scope="module")
async def attacker(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    yield made
    await node.remove(made)


@pytest.fixture(scope="module")
async def victim(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    await made.get()
    yield made
    await node.remove(made)


@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_no_attempt_of_a_site_succeeds(attacker: Site, victim: Site, attempt: str):
    names = {
        "{home}": str(victim.paths.home),
        "{memory}": str(victim.paths.memory),
        "{data}": str(attacker.node.data),
        "{other}": victim.environment,
        "{pattern}": victim.environment.replace("_", "x"),
        "{port}": str(attacker.node.edge.port),
    }
    code = ATTEMPTS[attempt]
    for name, value in names.items():
        code = code.replace(name, value)
    assert await attacker.run_php(f"{PREPARE} try {{ {code} }} catch (Error $refused) {{}}") == ""


async def test_the_attempts_would_succeed_if_they_could(attacker: Site):
    """The same means reach what belongs to the site itself."""
    for code in (
        reads("/etc/stead/wp-config.php"),
        writes("/srv/site/wp-content/uploads/own"),
        connects("unix:///run/platform/egress.sock"),
        connects("unix:///run/platform/agent.sock"),
        connects("unix:///run/mysqld/mariadb.sock"),
        queries("select 1 from wp_users"),
        'if (socket_create(AF_INET, SOCK_STREAM, 0)) echo "made";',
        'echo shell_exec("id -u");',
    ):
        assert await attacker.run_php(f"{PREPARE}{code}"), code


@pytest.mark.parametrize("name", ["shell.php", "shell.PHP", "shell.phtml", "shell.php5", "shell.phar"])
async def test_a_program_in_uploads_is_never_run(attacker: Site, name: str):
    uploads = attacker.paths.content / "uploads"
    (uploads / name).write_text("<?php echo 'ran ' . 6 * 7;")
    folder = "/wp-content/uploads"
    for path in (f"{folder}/{name}", f"{folder}/{name}/x", f"{folder.upper()}/{name}"):
        answer = await attacker.get(path)
        assert "ran 42" not in answer.text
        assert "<?php" not in answer.text


async def test_php_itself_refuses_a_program_in_uploads(attacker: Site):
    """Also when the edge is asked for another path that ends there."""
    uploads = attacker.paths.content / "uploads"
    (uploads / "hidden.php").write_text("<?php echo 'ran ' . 6 * 7;")
    link = attacker.paths.content / "plugins" / "linked.php"
    link.symlink_to("../uploads/hidden.php")
    assert "ran 42" not in (await attacker.get("/wp-content/plugins/linked.php")).text


async def test_a_link_in_uploads_does_not_show_files_of_the_node(attacker: Site, victim: Site):
    targets = ["/etc/passwd", str(victim.paths.content / "index.php"), f"{attacker.node.data}/edge.log", "/"]
    await attacker.run_php(
        "".join(
            f'symlink("{target}", "/srv/site/wp-content/uploads/link-{number}.txt");'
            for number, target in enumerate(targets)
        )
    )
    for number in range(len(targets)):
        answer = await attacker.get(f"/wp-content/uploads/link-{number}.txt")
        assert answer.status_code in (403, 404)


@pytest.mark.parametrize(
    "attack",
    [
        "for (;;);",
        'shell_exec(":(){ :|:& };:"); for (;;) { if (!pcntl_fork()) { for (;;); } }',
        'for (;;) { file_put_contents("/srv/site/wp-content/uploads/f", str_repeat("x", 1 << 24)); }',
        'for (;;) { error_log(str_repeat("z", 60000)); }',
        'ini_set("memory_limit", -1); for (;;) { $all[] = str_repeat("x", 1 << 20); }',
        'for ($n = 1;; $n++) { $all[$n % 4000] = @fsockopen("unix:///run/mysqld/mariadb.sock"); }',
    ],
    ids=["processor", "processes", "disk", "log", "memory", "connections"],
)
async def test_an_attack_on_what_sites_share_does_not_stop_a_neighbour(
    attacker: Site, victim: Site, attack: str
):
    async def visit(count: int) -> list[float]:
        taken = []
        for number in range(count):
            began = time.monotonic()
            answer = await victim.get(f"/?calm={number}-{attack[:9]}")
            assert answer.status_code == 200
            taken.append(time.monotonic() - began)
        return taken

    await visit(5)
    calm = await visit(15)
    path = attacker.put_script("attack.php", f"set_time_limit(0);{attack}")
    attacks = [asyncio.create_task(_ignore_answer(attacker, path)) for _ in range(3)]
    try:
        during = await visit(15)
    finally:
        for each in attacks:
            each.cancel()
        await asyncio.wait(attacks)
        # Otherwise PHP begins with those that still wait, although nobody waits for their answers.
        (attacker.paths.content / "plugins" / "attack.php").unlink()
        kill_processes(attacker.hosted.plan.container.cgroup)
        await attacker.hosted.sleep()
    ratio = statistics.median(during) / statistics.median(calm)
    times = f"p50 {ratio:.1f} times, p99 {p99(during) / p99(calm):.1f} times the usual"
    print(f"a site beside an attack: {times}")  # noqa: T201
    group = attacker.hosted.plan.container.cgroup
    assert not cgroups.processes(group)

    async def answers() -> bool | None:
        try:
            return (await attacker.get("/?nocache=after")).status_code == 200 or None
        except httpx.ReadTimeout:
            return None  # it may take a while to wake up

    await until(answers, 60)


async def _ignore_answer(site: Site, path: str) -> None:
    try:
        await site.get(path)
    except Exception:  # noqa: BLE001 - the answer does not matter, and often there is none
        return
