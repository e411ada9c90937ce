"""Commands run once, in a container that sees the site as PHP does, and leave nothing running."""

import asyncio
from pathlib import Path

import pytest

from stead.node.containers import cgroups
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.wordpress.paths import container_prefix
from stead.protocol.work.access import RunCommand, Shell
from stead.shared.ids import new_id
from tests.node.driver_pairs import CapturedOutput
from tests.node.harness import until
from tests.node.wordpress.wordpress_node import Site


async def run(
    site: Site, *args: str, program: Shell = "cms-cli", restricted: bool = True, job: str = ""
) -> str:
    """What the command prints."""
    output = CapturedOutput()
    task = Assignment(job or new_id("job"), "site_x", site.environment, output)
    await site.node.runtime.run_command(task, RunCommand("cms", program, args, restricted))
    return "\n".join(output.lines)


def bundles_of(site: Site) -> list[Path]:
    """The configurations of commands, which contain their arguments."""
    return list(site.paths.memory.glob(f"{site.paths.container_name}-*"))


async def test_wp_cli_reads_and_changes_the_site(site: Site):
    assert "7.1.1" in await run(site, "core", "version")
    await run(site, "option", "update", "blogname", "Named by a command")
    assert bundles_of(site) == []
    assert "Named by a command" in (await site.get("/?nocache=1")).text


async def test_a_sleeping_site_is_not_woken(site: Site):
    await site.hosted.sleep()
    assert "admin" in await run(site, "user", "list", "--field=user_login")
    assert site.hosted.state == "asleep"


async def test_the_exit_code_is_in_the_error(site: Site):
    with pytest.raises(Refusal) as refused:
        await run(site, "option", "get", "no_such_option")
    assert (refused.value.code, refused.value.reason) == ("exec.failed", "the command ended with exit code 1")


async def test_bash_runs_with_the_user_of_the_site(site: Site):
    printed = await run(site, "-c", "id -u; pwd; cat /etc/hostname; exit 0", program="bash", restricted=False)
    assert "33" in printed


async def test_the_first_process_of_the_container_is_quiet_and_its_setting_is_not_passed_on(site: Site):
    """tini warns when a signal arrives just after the command has ended; that is no output of the command."""
    script = "env; tr '\\0' '\\n' < /proc/1/environ | sed 's/^/first: /'"
    printed = (await run(site, "-c", script, program="bash", restricted=False)).splitlines()
    assert "first: TINI_VERBOSITY=0" in printed
    assert not [line for line in printed if line.startswith("TINI")]


async def test_a_command_that_was_begun_is_not_repeated(site: Site):
    job = new_id("job")
    await run(site, "post", "create", "--post_title=Once", "--post_status=publish", job=job)
    with pytest.raises(Refusal, match="interrupted"):
        await run(site, "post", "create", "--post_title=Once", "--post_status=publish", job=job)
    posts = site.query("select count(*) from {schema}.wp_posts where post_title = 'Once'")
    assert posts == [(1,)]


async def test_a_cancelled_command_leaves_no_process(site: Site):
    running = asyncio.create_task(
        run(site, "-c", "sleep 86311 & sleep 86312", program="bash", restricted=False)
    )

    async def has_begun() -> bool | None:
        groups = cgroups.find(f"{container_prefix(site.node.data)}{site.environment}-")
        return any(len(cgroups.processes(group)) > 3 for group in groups) or None

    await until(has_begun)
    running.cancel()
    await asyncio.wait({running})
    assert cgroups.find(f"{container_prefix(site.node.data)}{site.environment}-") == set()
    assert bundles_of(site) == []
    assert (await site.get()).status_code == 200


CODE = "file_put_contents('/srv/site/wp-content/uploads/escaped', 'x');"
PLANTED = "/srv/site/wp-content/uploads/planted.php"


async def test_wp_cli_itself_refuses_to_run_code_for_a_restricted_key(site: Site):
    """The control plane refuses these before; a command that it fails to see is harmless nevertheless."""
    uploads = site.paths.content / "uploads"
    (uploads / "planted.php").write_text(f"<?php {CODE}")
    for directory in (site.paths.content, uploads):
        (directory / "wp-cli.yml").write_text(f"require:\n  - {PLANTED}\n")
    attempts: list[tuple[str, ...]] = [
        ("cli", "version"),
        ("eval", CODE),
        ("eval-file", PLANTED),
        ("shell",),
        (f"--exec={CODE}", "cli", "version"),
        ("cli", "version", f"--exec={CODE}"),
        (f"--require={PLANTED}", "option", "get", "blogname"),
        ("option", "get", "blogname", f"--require={PLANTED}"),
        ("--path=/srv/site/wp-content/uploads", "option", "get", "blogname"),
        ("--context=admin", "eval", CODE),
        ("--ssh=127.0.0.1", "eval", CODE),
        ("@all", "eval", CODE),
        ("package", "list"),
        ("config", "get", "DB_PASSWORD"),
        ("scaffold", "plugin", "planted"),
        ("super-admin", "list"),
        ("profile", "eval", CODE),
    ]
    password = (
        (site.paths.memory / "wp-config.php").read_text().partition("'DB_PASSWORD', '")[2].partition("'")[0]
    )
    assert len(password) > 20
    for args in attempts:
        try:
            printed = await run(site, *args)
        except Refusal as refused:
            printed = refused.reason
        assert password not in printed, args
        assert not (uploads / "escaped").exists(), args
    assert not (site.paths.content / "plugins" / "planted").exists()
    # The same code runs for somebody who may run code.
    await run(site, "eval", CODE, restricted=False)
    assert (uploads / "escaped").exists()


async def test_a_command_that_takes_too_much_memory_is_ended_and_visitors_are_served(site: Site):
    with pytest.raises(Refusal, match="more than 256 MB of memory"):
        await run(
            site,
            "-c",
            "php -d memory_limit=-1 -r 'str_repeat(1, 500 << 20);'",
            program="bash",
            restricted=False,
        )
    assert (await site.get()).status_code == 200
