"""Changes plugins and themes with WP-CLI, in containers of their own that see the site as PHP does.

Before a change the files of the component and what is active are kept. If the site answered before the change
and does not answer after it, both come back at once.
"""

import asyncio
import os
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stead.artifacts.refusals import printable
from stead.node import transfer
from stead.node.containers.bundle import BindMount
from stead.node.containers.limits import ContainerFailed
from stead.node.containers.runc import Runc, new_container
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.drivers.layout import check_identifier
from stead.node.fair_places import FairPlaces
from stead.node.hosting.wake_budget import WakeBudget
from stead.node.processes import StreamName
from stead.node.uninterrupted import run_in_thread, run_uninterrupted
from stead.node.wordpress.command_room import take_room
from stead.node.wordpress.commands import container_of_command
from stead.node.wordpress.component_registry import MAX_ARCHIVE_BYTES, Registry, is_version
from stead.node.wordpress.plan import WEB_ROOT, WordPressPlan
from stead.node.wordpress.prober import find_failure
from stead.node.wordpress.program_files import own_files
from stead.node.wordpress.script_container import PART, run_script
from stead.protocol.work.access import RunCommand
from stead.protocol.work.cms import ChangeComponents, ComponentChange, ComponentOutcome, ComponentsChanged
from stead.shared.component_versions import version_key

FAILED, UNHEALTHY, VULNERABLE = "component.failed", "component.unhealthy", "component.vulnerable"
SECONDS = 240.0
JOB_SECONDS = 600.0
"""After this time a job begins no further change: code of its customer runs while others wait."""
AT_ONCE, PER_TENANT = 12, 1
"""Jobs that change components on a node at the same time. They mostly wait for PHP."""
ARCHIVE = "/run/stead/component.zip"
_MAX_OUTPUT = 64 << 10
_SLUG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_KEPT = f"{WEB_ROOT}/wp-content/uploads/.stead-kept"
"""No program runs there. WordPress itself empties its own directory for upgrades."""
_VERSION = "version "
_FOLDERS = {"plugin": "plugins", "theme": "themes"}
Mounts = tuple[BindMount, ...]
RenewCode = Callable[[str, str], Awaitable[None]]
"""Called with an environment and a directory whose files have changed."""
MakePlan = Callable[[str], WordPressPlan]
"""Called with the name of a part: a plan of its own."""


@dataclass(frozen=True)
class ProgramEnd:
    code: int
    output: str
    errors: str

    @property
    def reason(self) -> str:
        lines = [line for line in self.errors.splitlines() if line.startswith("Error:")]
        text = lines[-1] if lines else (self.errors or self.output).strip().rpartition("\n")[2]
        return printable(text.removeprefix("Error:").strip()) or f"it ended with {self.code}"


@dataclass
class Components:
    runc: Runc
    registry: Registry
    scratch: Path
    renew_code: RenewCode
    budget: WakeBudget
    _places: FairPlaces = field(default_factory=lambda: FairPlaces(AT_ONCE, PER_TENANT))

    async def change(
        self, make_plan: MakePlan, work: ChangeComponents, task: Assignment
    ) -> ComponentsChanged:
        for change in work.changes:
            _check(change)
        plan, outcomes = make_plan(""), []
        async with self._places.take(plan.tenant), take_room(self.budget, plan):
            until = time.monotonic() + JOB_SECONDS
            failing = bool(await self._probe(make_plan, work.host, task))
            for number, change in enumerate(work.changes):
                kept = f"{_KEPT}-{check_identifier(task.job)}-{number}"
                try:
                    _require_time(until)
                    await self._change_or_return(
                        make_plan, change, kept, task, None if failing else work.host
                    )
                except Refusal as refusal:
                    if len(work.changes) == 1:
                        raise
                    outcomes.append(ComponentOutcome(change.slug, refusal.reason))
                    said = f"failed: {refusal.reason}"
                else:
                    outcomes.append(ComponentOutcome(change.slug))
                    said = "is done"
                await task.output.say(f"components: {change.action} of {change.slug} {said}")
        if all(each.reason for each in outcomes):
            raise Refusal(FAILED, "none of the components could be changed")
        return ComponentsChanged(tuple(outcomes))

    async def _change_or_return(
        self, make_plan: MakePlan, change: ComponentChange, kept: str, task: Assignment, host: str | None
    ) -> None:
        """`host` is probed after the change; None for a site that failed before."""
        async with self._archive(change, task) as archive:
            lines = await self._handle_kept(make_plan, "keep", change, kept, archive)
            try:
                _require_not_vulnerable(change, _find_version(lines))
                await self._change_one(make_plan(""), change, archive)
                await self.renew_code(task.environment, _place(change))
                if host is not None:
                    await self._require_healthy(make_plan, host, task)
            except BaseException:
                # Also when the job is cancelled: nothing is left half changed.
                await run_uninterrupted(self._return(make_plan, change, kept, task))
                raise
            await self._handle_kept(make_plan, "forget", change, kept)

    async def _return(
        self, make_plan: MakePlan, change: ComponentChange, kept: str, task: Assignment
    ) -> None:
        await self._handle_kept(make_plan, "return", change, kept)
        await self.renew_code(task.environment, _place(change))

    async def _require_healthy(self, make_plan: MakePlan, host: str, task: Assignment) -> None:
        if failure := await self._probe(make_plan, host, task):
            raise Refusal(UNHEALTHY, f"the site fails with it: {failure}")

    async def _change_one(self, plan: WordPressPlan, change: ComponentChange, archive: Mounts) -> None:
        kind = change.kind
        match change.action:
            case "install" | "update":
                await self._install(plan, change, archive)
            case "activate" | "deactivate" if kind == "plugin" or change.action == "activate":
                await self._wp(plan, kind, change.action, change.slug)
            case "delete":
                if kind == "plugin":
                    await self._wp(plan, kind, "deactivate", change.slug)
                await self._wp(plan, kind, "delete", change.slug)
            case _:
                raise Refusal(FAILED, "another theme must be activated instead")

    async def _handle_kept(
        self, make_plan: MakePlan, action: str, change: ComponentChange, kept: str, archive: Mounts = ()
    ) -> tuple[str, ...]:
        """Keep the component and what is active, bring both back, or forget what was kept. An archive must
        contain this component and nothing else: nothing else would come back. Returns what it printed."""
        arguments = (action, _place(change), kept, *(mount.destination for mount in archive))
        try:
            end = await run_script(make_plan(PART), self.runc, "components.php", *arguments, mounts=archive)
        except TimeoutError:
            raise Refusal(FAILED, "the files of the component could not be copied in time") from None
        if end.code or end.lines[-1:] != ("done",):
            raise Refusal(FAILED, printable(" ".join(end.lines[-1:])) or "its files cannot be kept")
        return end.lines

    @asynccontextmanager
    async def _archive(self, change: ComponentChange, task: Assignment) -> AsyncIterator[Mounts]:
        """What makes the archive of the component visible in a container; nothing if there is none."""
        if change.action not in ("install", "update"):
            yield ()
            return
        folder = await run_in_thread(self._make_folder)
        try:
            archive = folder / "component.zip"
            if change.archive:
                await _fetch_upload(change.archive, archive)
            else:
                version = await self.registry.download(change.kind, change.slug, change.version, archive)
                _require_not_vulnerable(change, version)
                await task.output.say(f"components: {change.slug} {version} is downloaded")
            await run_in_thread(archive.chmod, 0o444)
            yield (BindMount(archive, ARCHIVE, executable=False),)
        finally:
            await run_in_thread(shutil.rmtree, folder, True)

    async def _install(self, plan: WordPressPlan, change: ComponentChange, archive: Mounts) -> None:
        options = ("--activate",) if change.activate else ()
        await self._wp(plan, change.kind, "install", ARCHIVE, "--force", *options, mounts=archive)
        if not await run_in_thread(_exists, plan, change):
            raise Refusal(FAILED, f"the archive does not contain {change.slug}")

    def clear(self) -> None:
        """Remove the archives of changes that were interrupted. Blocks."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _make_folder(self) -> Path:
        self.scratch.mkdir(mode=0o711, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        folder.chmod(0o711)
        return folder

    async def _probe(self, make_plan: MakePlan, host: str, task: Assignment) -> str:
        return await find_failure(make_plan(PART), self.runc, host, task)

    async def _wp(self, plan: WordPressPlan, *args: str, mounts: tuple[BindMount, ...] = ()) -> None:
        end = await self._run_wp(plan, *args, mounts=mounts)
        if end.code:
            raise Refusal(FAILED, end.reason)

    async def _run_wp(
        self, plan: WordPressPlan, *args: str, mounts: tuple[BindMount, ...] = ()
    ) -> ProgramEnd:
        output, errors = bytearray(), bytearray()

        async def collect(stream: StreamName, data: bytes) -> None:
            kept = errors if stream == "stderr" else output
            kept.extend(data[: _MAX_OUTPUT - len(kept)])

        async with own_files(plan) as own:
            container = new_container(f"{plan.container.name}-", plan.paths.memory)
            work = RunCommand("cms", "cms-cli", args)
            configuration = container_of_command(own, work, container.cgroup, mounts=mounts)
            try:
                async with asyncio.timeout(SECONDS):
                    code = await self.runc.run(container, configuration, collect)
            except TimeoutError:
                raise Refusal(FAILED, f"it took longer than {SECONDS:.0f} s") from None
            except (ContainerFailed, OSError):
                raise Refusal(FAILED, "the container could not be started") from None
        return ProgramEnd(code, output.decode(errors="replace"), errors.decode(errors="replace"))


async def _fetch_upload(url: str, path: Path) -> None:
    try:
        await transfer.get(url, path, max_bytes=MAX_ARCHIVE_BYTES)
    except transfer.TooLarge:
        raise Refusal(FAILED, f"the archive is larger than {MAX_ARCHIVE_BYTES} bytes") from None


def _find_version(lines: Sequence[str]) -> str:
    """The version of the archive, as its own files say."""
    found = next((line for line in lines if line.startswith(_VERSION)), "")
    return found.removeprefix(_VERSION)


def _require_not_vulnerable(change: ComponentChange, version: str) -> None:
    key = version_key(version)
    if key is None:
        return
    for each in change.refused:
        if each.contains(key):
            fixed = f"; it is fixed in {each.fixed_version}" if each.fixed_version else ""
            raise Refusal(VULNERABLE, f"{change.slug} {version}: {each.title}{fixed}")


def _require_time(until: float) -> None:
    if time.monotonic() > until:
        raise Refusal(FAILED, "the changes before it took too long; begin another job for the others")


def _place(change: ComponentChange) -> str:
    """The directory of a component. The file of a plugin that has no directory is beside it."""
    return f"{WEB_ROOT}/wp-content/{_FOLDERS[change.kind]}/{change.slug}"


def _exists(plan: WordPressPlan, change: ComponentChange) -> bool:
    """The site may have put a link there, which is not followed."""
    place = plan.paths.content / _FOLDERS[change.kind] / change.slug
    return os.path.lexists(place) or os.path.lexists(place.with_name(f"{place.name}.php"))


def _check(change: ComponentChange) -> None:
    if _SLUG.fullmatch(change.slug) is None or ".." in change.slug:
        raise Refusal(FAILED, "this is not the name of a component")
    if change.version and not is_version(change.version):
        raise Refusal(FAILED, "this is not a version")
