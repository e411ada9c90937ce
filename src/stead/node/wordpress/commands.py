"""Runs a customer's command, usually WP-CLI, in a container of its own that sees the site as PHP does.

The container has the user, the limits and the network of the site, and no terminal. Visitors and commands do
not share memory, and a command that is cancelled leaves no process.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from stead.node.containers.bundle import BindMount
from stead.node.containers.limits import ContainerFailed
from stead.node.containers.runc import Runc, new_container
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.drivers.layout import check_identifier, sync_directory
from stead.node.hosting.wake_budget import WakeBudget
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.command_room import take_room
from stead.node.wordpress.configuration_files import TEMPLATES
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.program_files import own_files
from stead.protocol.work.access import RunCommand

FAILED = "exec.failed"
PLACES = 4
"""How many commands of a tenant run at the same time on this node."""
WP_CLI = "/usr/local/lib/wp-cli.phar"
_REMEMBER_SECONDS = 60 * 86_400.0
"""Longer than the journal of the node remembers a command."""
_PLACE = "/run/stead"
_FILES = ("wp-cli.yml", "wp-cli-options.php", "wp-cli-commands.php")
_ENVIRONMENT = {
    "HOME": "/nonexistent",
    "TMPDIR": "/tmp",  # noqa: S108 - it belongs to the container
    "PAGER": "cat",
    "EDITOR": "/bin/false",
    "LESSSECURE": "1",
    "WP_CLI_CONFIG_PATH": f"{_PLACE}/wp-cli.yml",
    "WP_CLI_PACKAGES_DIR": "/nonexistent",
    "WP_CLI_CACHE_DIR": "/tmp/wp-cli",  # noqa: S108
    "WP_CLI_DISABLE_AUTO_CHECK_UPDATE": "1",
}
_RESTRICTIONS = {
    "WP_CLI_EARLY_REQUIRE": f"{_PLACE}/wp-cli-options.php",
    "WP_CLI_REQUIRE": f"{_PLACE}/wp-cli-commands.php",
}


class Commands:
    """`begun` is the directory that remembers which commands were begun."""

    def __init__(self, runc: Runc, budget: WakeBudget, begun: Path) -> None:
        self._runc, self._budget, self._begun = runc, budget, begun
        self._places: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(PLACES))

    async def run(self, plan: WordPressPlan, work: RunCommand, task: Assignment) -> None:
        async with self._places[plan.tenant], take_room(self._budget, plan), own_files(plan) as own:
            await run_in_thread(self._remember, check_identifier(task.job))
            container = new_container(f"{plan.container.name}-", plan.paths.memory)
            configuration = container_of_command(own, work, container.cgroup)
            try:
                code = await self._runc.run(container, configuration, task.output.chunk)
            except (ContainerFailed, OSError):
                raise Refusal(FAILED, "the container of the command could not be started") from None
        if container.limit_events.killed_for_memory:
            memory_mb = plan.desired.spec.limits.memory_mb
            raise Refusal(FAILED, f"the command used more than {memory_mb} MB of memory")
        if code:
            raise Refusal(FAILED, f"the command ended with exit code {code}")

    def _remember(self, job: str) -> None:
        """Refuse a command that was begun before, by an agent that was stopped."""
        self._begun.mkdir(mode=0o700, exist_ok=True)
        try:
            (self._begun / job).touch(exist_ok=False)
        except FileExistsError:
            reason = "the command was interrupted, because its node was restarted; it may have done a part"
            raise Refusal(FAILED, reason) from None
        sync_directory(self._begun)
        for path in self._begun.iterdir():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < time.time() - _REMEMBER_SECONDS:
                    path.unlink()


def container_of_command(
    plan: WordPressPlan,
    work: RunCommand,
    cgroup: str,
    *,
    mounts: tuple[BindMount, ...] = (),
) -> Mapping[str, object]:
    """The configuration of its container."""
    return plan.configure(_argv(work), _environment(work), *_mounts(plan), *mounts, cgroup=cgroup)


def _argv(work: RunCommand) -> tuple[str, ...]:
    if work.shell == "bash":
        return ("/bin/bash", *work.args)
    options = (
        "display_errors=stderr",
        "sendmail_path=/usr/local/bin/php -n /run/stead/platform/sendmail.php",
    )
    return ("/usr/local/bin/php", *(word for each in options for word in ("-d", each)), WP_CLI, *work.args)


def _environment(work: RunCommand) -> Mapping[str, str]:
    return _ENVIRONMENT | (_RESTRICTIONS if work.restricted else {})


def _mounts(plan: WordPressPlan) -> list[BindMount]:
    files = [BindMount(TEMPLATES / name, f"{_PLACE}/{name}") for name in _FILES]
    return [BindMount(plan.core / WP_CLI.lstrip("/"), WP_CLI), *files]
