"""The driver of functions: keeps the table of what this node serves, and tells the host about changes."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal, SiteLog, SiteSpan
from stead.node.drivers.releases import Releases
from stead.node.fair_places import FairPlaces
from stead.node.functions import places
from stead.node.functions.control_link import HostOrder, HostUnreachable, send_order, take_spans
from stead.node.functions.disk_share import MAX_BYTES_OF_SITE, ShareExceeded, choose_discarded
from stead.node.functions.sandbox import guest_kinds
from stead.node.functions.sandbox.sizes import MAX_COMPILED
from stead.node.functions.spec import BoundResource, FunctionSecrets, FunctionSpec
from stead.node.hosting.desired_state import DesiredState
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.functions import EnsureFunction, RemoveFunction
from stead.protocol.work.hosting import EnsureEnvironment, RemoveEnvironment
from stead.protocol.work.releases import release_of

KEPT_VERSIONS = 5
"""Of each function, besides the one that is served."""
AT_ONCE, PER_TENANT = 2, 1
"""How many functions are compiled at the same time on a node, and how many of those for one tenant."""
UNHEALTHY = "deploy.unhealthy"
CONTAINER = "functions"
"""What the lines of their logs are said to be from."""

FunctionTable = DesiredState[FunctionSpec, FunctionSecrets]


class FunctionsDriver(Driver):
    def __init__(self, data: Path, table: FunctionTable, releases: Releases, space: DiskSpace) -> None:
        self._data, self._table, self._releases, self._space = data, table, releases, space
        self._places = FairPlaces(AT_ONCE, PER_TENANT)
        self._sites: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        releases.add_user(self._list_releases)

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(EnsureFunction, self.ensure_function),
            Handler(EnsureEnvironment, self.ensure_environment, ("wasm",)),
            Handler(RemoveFunction, self.remove_function),
            Handler(RemoveEnvironment, self.remove_environment),
        ]

    def list_logs(self) -> Sequence[SiteLog]:
        """Called from another thread."""
        functions = {spec.function: spec.environment for spec in self._table.specs().values()}
        return [
            SiteLog(environment, places.log_file(self._data, function), CONTAINER)
            for function, environment in functions.items()
        ]

    def take_spans(self) -> Sequence[SiteSpan]:
        """Called from another thread."""
        hosted = {spec.environment for spec in self._table.specs().values()}
        if not hosted:
            return ()
        return [span for span in take_spans(places.control_socket(self._data)) if span.environment in hosted]

    async def ensure_function(self, task: Assignment, work: EnsureFunction) -> None:
        async with self._sites[task.site]:
            if self._is_compiled(work.version):
                await self._ensure_function(task, work)
                return
            async with self._places.take(work.tenant or task.site):
                await self._ensure_function(task, work)

    async def ensure_environment(self, task: Assignment, work: EnsureEnvironment) -> None:
        """A function that cannot be started does not keep the site from its visitors."""
        for function in work.functions:
            try:
                await self.ensure_function(task, function)
            except Refusal as refused:
                await task.output.say(f"functions: {function.function} is not served: {refused.reason}")

    async def _ensure_function(self, task: Assignment, work: EnsureFunction) -> None:
        if not (self._data / "environments" / task.environment).exists():
            raise Refusal("environment.not_found", "the environment is not on this node")
        if await self._releases.ensure(work.release, "wasm"):
            await task.output.say(f"functions: the release {work.release.digest} is verified and in place")
        release = release_of(work.release.digest)
        module = places.module_file(self._data, release)
        if not module.is_file():
            raise Refusal(UNHEALTHY, "the artifact contains no function.wasm")
        spec = _build_spec(task, work, release, is_component=await run_in_thread(is_component_file, module))
        self._store(spec, dict(work.secrets))
        await self._releases.add_to_list(self._data / "environments" / task.environment, work.release)
        await task.output.say("functions: compiling and starting the function")
        order = HostOrder("ensure", work.version)
        if self._is_compiled(work.version):
            # It can be served also when there is no space.
            await self._order(order, new=work.version)
        else:
            # Versions whose deployment was cancelled take room, too.
            await self._make_room(spec)
            await self._forget_old(work.function)
            with self._space.reserve(MAX_COMPILED):
                await self._order(order, new=work.version)
        await self._make_room(spec)
        await task.output.say(f"functions: {work.version} has started")
        await self._forget_old(work.function)

    async def remove_function(self, task: Assignment, work: RemoveFunction) -> None:  # noqa: ARG002
        await self._remove(lambda spec: spec.function == work.function)

    async def remove_environment(self, task: Assignment, _: RemoveEnvironment) -> None:
        await self._remove(lambda spec: spec.environment == task.environment)

    def _store(self, spec: FunctionSpec, secrets: dict[str, str]) -> None:
        others = self._table.specs()
        newest = max((other.deployed for other in others.values()), default=0)
        spec = replace(spec, deployed=newest + 2)
        self._table.put(spec.version, spec.site, spec, FunctionSecrets(secrets))
        if spec.active:
            for other in others.values():
                if other.function == spec.function and other.active and other.version != spec.version:
                    self._deactivate(other.version, deployed=newest + 1)

    def _deactivate(self, version: str, *, deployed: int) -> None:
        """It is the latest of the earlier versions, which are removed before it."""
        row = self._table.find(version)
        if row is not None:
            spec = replace(row.spec, active=False, deployed=deployed)
            self._table.put(version, row.site, spec, row.secrets)

    def _is_compiled(self, version: str) -> bool:
        return places.compiled(self._data, version).exists()

    async def _order(self, order: HostOrder, *, new: str = "") -> None:
        try:
            answer = await send_order(places.control_socket(self._data), order)
        except HostUnreachable:
            # Tried again: the host may be starting.
            raise ConnectionError("the host of functions does not answer") from None
        if not answer.ok:
            if new and not _is_active(self._table, new):
                await run_in_thread(self._discard, new)
            raise Refusal(UNHEALTHY, f"the function could not be started: {answer.reason}")

    async def _remove(self, belongs: Callable[[FunctionSpec], bool]) -> None:
        removed = {version: spec for version, spec in self._table.specs().items() if belongs(spec)}
        for version in removed:
            await run_in_thread(self._discard, version)
        if removed:
            await self._order(HostOrder("reload"))
        for function in {spec.function for spec in removed.values()}:
            await run_in_thread(self._remove_log, function)

    async def _make_room(self, new: FunctionSpec) -> None:
        """The versions of a site take a limited part of the disk, which all sites share."""
        try:
            discarded = await run_in_thread(
                choose_discarded, self._data, list(self._table.specs().values()), new
            )
        except ShareExceeded:
            if new.active:
                # It was served before, and is not taken from its visitors.
                return
            discarded = [new.version]
        for version in discarded:
            await run_in_thread(self._discard, version)
        if discarded:
            await self._order(HostOrder("reload"))
        if new.version in discarded:
            limit = MAX_BYTES_OF_SITE >> 20
            reason = f"the functions of a site, with what they are compiled to, have at most {limit} MB"
            raise Refusal(UNHEALTHY, reason)

    async def _forget_old(self, function: str) -> None:
        versions = [spec for spec in self._table.specs().values() if spec.function == function]
        inactive = sorted((spec for spec in versions if not spec.active), key=lambda spec: spec.deployed)
        for spec in inactive[: -KEPT_VERSIONS - 1]:
            await run_in_thread(self._discard, spec.version)
        if len(inactive) > KEPT_VERSIONS + 1:
            await self._order(HostOrder("reload"))

    def _discard(self, version: str) -> None:
        self._table.remove(version)
        places.compiled(self._data, version).unlink(missing_ok=True)

    def _remove_log(self, function: str) -> None:
        places.log_file(self._data, function).unlink(missing_ok=True)

    def _list_releases(self) -> Collection[str]:
        return {spec.release for spec in self._table.specs().values()}


def _is_active(table: FunctionTable, version: str) -> bool:
    spec = table.find_spec(version)
    return spec is not None and spec.active


def _build_spec(task: Assignment, work: EnsureFunction, release: str, *, is_component: bool) -> FunctionSpec:
    return FunctionSpec(
        function=work.function,
        version=work.version,
        site=task.site,
        environment=task.environment,
        release=release,
        is_component=is_component,
        memory_mb=work.limits.memory_mb,
        wall_ms=work.limits.wall_ms,
        request_bytes=work.limits.request_bytes,
        fresh=work.fresh,
        variables=dict(work.variables),
        bindings=tuple(
            BoundResource(bound.kind, bound.name, bound.namespace, bound.allow, bound.target)
            for bound in work.bindings
        ),
        active=work.active,
        tenant=work.tenant,
    )


def prepare_directories(data: Path) -> None:
    home = places.home(data)
    for directory, mode in (
        (home, 0o711),
        (home / "compiled", 0o700),
        (home / "logs", 0o700),
        (places.sockets(data), 0o711),
    ):
        directory.mkdir(mode=mode, parents=True, exist_ok=True)
        directory.chmod(mode)


def is_component_file(module: Path) -> bool:
    """Whether the file is a component, and not a core module."""
    with module.open("rb") as file:
        return guest_kinds.is_component(file.read(8))
