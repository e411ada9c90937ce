"""The builder of static sites: fetch, install, build, pack, put."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stead.artifacts.packing import Packed, pack
from stead.artifacts.refusals import TreeRefused, printable
from stead.node import transfer
from stead.node.builds import projects, trees
from stead.node.builds.bundle import Bind, Stage
from stead.node.builds.caches import Caches
from stead.node.builds.caps import BuildFailed, Caps
from stead.node.builds.egress import Egress, Resolve, resolve
from stead.node.builds.egress_rules import Rules
from stead.node.builds.explaining import explained, overrun
from stead.node.builds.fetching import Commit, Fetcher
from stead.node.builds.log import Log, secrets_of
from stead.node.builds.rooms import Rooms
from stead.node.builds.sandbox import SURROUNDINGS, Room, Sandbox
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.uninterrupted import in_thread
from stead.protocol.work import Build, BuildResult

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
PUT_TRIES, PUT_PAUSE = 3, 1.0


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class StaticBuilder(Driver):
    rooms: Rooms
    caches: Caches
    sandbox: Sandbox
    caps: Caps
    rules: Rules
    """Of every build: the registry, and what the operator listed."""
    registry: str
    resolve: Resolve = resolve
    now: Callable[[], datetime] = _utc_now

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(Build, self.build, ("static",))]

    async def build(self, task: Assignment, wanted: Build) -> BuildResult:
        log = Log(task.output, secrets_of(wanted), self.now)
        try:
            if self.rooms.all_taken:
                await log.say(f"waiting: {self.caps.at_once} builds are under way on this node")
            async with self.rooms.taken() as room:
                return await self._in(room, task, wanted, log)
        except BuildFailed as failed:
            raise Refusal(failed.code, log.masked(str(failed))) from None

    async def _in(self, room: Room, task: Assignment, wanted: Build, log: Log) -> BuildResult:
        try:
            async with asyncio.timeout(self.caps.seconds) as limit:
                commit = await self._fetcher.fetch(room, wanted.source, log)
                site = await self._built(room, task, wanted, log)
        except TimeoutError:
            if limit.expired():
                raise overrun(room, self.caps) from None
            raise
        log.begin("pack")
        layer = room.place / "layer"
        packed = await in_thread(_packed, site, layer)
        await log.say(f"{packed.files} files, {packed.content_bytes} bytes, packed into {packed.size}")
        await _put(layer, wanted.layer_url)
        return _result(packed, commit)

    @property
    def _fetcher(self) -> Fetcher:
        return Fetcher(self.sandbox, self.caps, self.rules, self.resolve)

    async def _built(self, room: Room, task: Assignment, wanted: Build, log: Log) -> Path:
        plan = await in_thread(projects.plan, room.source)
        if plan.install or plan.script:
            async with self.caches.lent(task.site, room.cache, room.uid) as cache:
                binds = (Bind(cache, "/cache", writable=True),) if cache else ()
                if plan.install:
                    await self._step(room, wanted, log, "install", ("npm", "ci"), binds)
                if plan.script:
                    await self._step(room, wanted, log, "build", ("npm", "run", plan.script), binds)
        else:
            log.begin("build")
            await log.say("nothing to build: the files are published as they are")
        site = await in_thread(projects.output, room.source, plan)
        await log.say(f"the site is in {site.relative_to(room.source)}")
        return site

    async def _step(
        self, room: Room, wanted: Build, log: Log, name: str, argv: tuple[str, ...], binds: tuple[Bind, ...]
    ) -> None:
        log.begin(name)
        await log.say(" ".join(argv))
        place = self._fetcher.place(wanted.source)
        rules = self.rules.plus(place.rule) if place else self.rules
        stage = Stage(argv, self._environment(wanted, cached=bool(binds)), binds=binds)
        async with Egress(rules, log.say, self.resolve).open(room.egress):
            ending = await self.sandbox.run(room, stage, log.sink)
        if failed := explained(ending.code, ending.strain, room, self.caps, " ".join(argv)):
            raise failed

    def _environment(self, wanted: Build, *, cached: bool) -> dict[str, str]:
        # What a build serves to itself does not leave the sandbox; a registry on the node's loopback does.
        inside = "" if urlsplit(self.registry).hostname in LOOPBACK else ",".join(LOOPBACK)
        return {
            # A program that sees the host's memory would take more than its share before it tidies up.
            "NODE_OPTIONS": f"--max-old-space-size={self.caps.memory_mb * 3 // 4}",
            "NODE_USE_ENV_PROXY": "1",
            **_checked(wanted.variables),
            **SURROUNDINGS,
            "no_proxy": inside,
            "NO_PROXY": inside,
            "CI": "true",
            "npm_config_audit": "false",
            "npm_config_cache": "/cache/npm" if cached else "/work/home/.npm",
            "npm_config_fetch_retry_factor": "3",
            "npm_config_fetch_retry_mintimeout": "1000",
            "npm_config_fetch_retry_maxtimeout": "10000",
            "npm_config_fund": "false",
            "npm_config_prefer_offline": "true",
            "npm_config_progress": "false",
            "npm_config_registry": self.registry,
            "npm_config_replace_registry_host": "always",
            "npm_config_update_notifier": "false",
        }


def _checked(variables: tuple[tuple[str, str], ...]) -> dict[str, str]:
    for name, value in variables:
        if _NAME.fullmatch(name) is None or "\0" in value:
            raise BuildFailed(f"{printable(name)} cannot be the name of a variable, or not with this value")
    return dict(variables)


def _packed(site: Path, layer: Path) -> Packed:
    trees.without_history(site)
    with layer.open("xb") as file:
        try:
            return pack(site, file)
        except TreeRefused as refused:
            raise BuildFailed(f"the site cannot be published: {refused}") from None


async def _put(layer: Path, address: str) -> None:
    # A store that hiccups must not cost a whole build.
    for remaining in reversed(range(PUT_TRIES)):
        try:
            await transfer.put(layer, address)
        except transfer.TransferFailed:
            if not remaining:
                raise
            await asyncio.sleep(PUT_PAUSE)
        else:
            return


def _result(packed: Packed, commit: Commit) -> BuildResult:
    return BuildResult(
        digest=packed.digest,
        size=packed.size,
        diff_id=packed.diff_id,
        files=packed.files,
        bytes=packed.content_bytes,
        commit=commit.commit,
        ref=commit.ref,
        author=commit.author,
        message=commit.message,
    )
