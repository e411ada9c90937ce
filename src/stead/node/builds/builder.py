"""The builder of static sites: fetch, install, build, pack, upload. Other builders extend it."""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from stead.artifacts.packer import PackedLayer, pack_layer
from stead.artifacts.refusals import TreeRefused, printable
from stead.artifacts.site_rules.compiler import check_rules
from stead.node import transfer
from stead.node.builds import node_versions, projects, relevance, trees
from stead.node.builds.caches import Caches
from stead.node.builds.explanations import explain_exit, explain_timeout
from stead.node.builds.failures import BuildFailed
from stead.node.builds.fetcher import Commit, Fetcher
from stead.node.builds.limits import BuildLimits
from stead.node.builds.log import BuildLog, secrets_of
from stead.node.builds.package_managers import NPM, Command, PackageManager
from stead.node.builds.projects import BuildPlan
from stead.node.builds.sandbox import ENVIRONMENT, SOURCE, Sandbox
from stead.node.builds.toolchains import Toolchain, Toolchains
from stead.node.builds.workspaces import Workspace, Workspaces
from stead.node.containers.bundle import BindMount, ContainerProcess
from stead.node.containers.egress_proxy import EgressProxy
from stead.node.containers.egress_rules import EgressRules
from stead.node.containers.names import PinnedNames, Resolve, resolve
from stead.node.disk_space import MB, DiskSpace
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.images.recipes import NODE_VERSIONS
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.builds import Build, BuildResult, PhpRequirement
from stead.shared.address_policy import Address

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ROOT_VARIABLE = "BUILD_ROOT"
_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class BuiltSite:
    site: Path | None
    """The directory that becomes the site. None if nothing has changed since the live release."""
    project: str = ""
    """The directory of the project, inside the source."""
    source_digest: str = ""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class StaticBuilder(Driver):
    """A build is refused with `build.failed` and the reason when it fails. When it has ended, in whatever
    way, none of its processes runs."""

    workspaces: Workspaces
    caches: Caches
    sandbox: Sandbox
    limits: BuildLimits
    rules: EgressRules
    """For every build: the package registry and the hosts that the operator listed."""
    registry: str
    space: DiskSpace
    find_platform: Callable[[], Collection[Address]] = frozenset
    """Returns the addresses of the platform. Builds do not reach them."""
    resolve: Resolve = resolve
    now: Callable[[], datetime] = _utc_now
    toolchains: Toolchains | None = None
    """Images of other generators and other versions of Node.js."""
    manager: PackageManager = NPM
    """Of the project that is built."""
    more_environment: Mapping[str, str] = field(default_factory=dict)
    """Of the generator of the project that is built."""

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(Build, self.build, ("static",))]

    async def build(self, task: Assignment, wanted: Build) -> BuildResult:
        log = BuildLog(task.output, secrets_of(wanted), self.now)
        try:
            if self.workspaces.all_in_use:
                await log.say(f"waiting: {self.limits.concurrent} builds are under way on this node")
            async with self.workspaces.acquire() as workspace:
                rules = replace(self.rules, platform=await run_in_thread(self.find_platform))
                this = replace(self, resolve=PinnedNames(self.resolve), rules=rules)
                with self.space.reserve(self.limits.disk_mb * MB):
                    return await this._build_in(workspace, task, wanted, log)  # noqa: SLF001 - a copy of self
        except BuildFailed as failed:
            raise Refusal(failed.code, log.mask(str(failed))) from None

    async def _build_in(
        self, workspace: Workspace, task: Assignment, wanted: Build, log: BuildLog
    ) -> BuildResult:
        try:
            async with asyncio.timeout(self.limits.seconds) as limit:
                commit = await self._fetcher.fetch(workspace, wanted.source, log)
                built = await self.run_commands(workspace, task, _with_commit(wanted, commit), log, commit)
        except TimeoutError:
            if limit.expired():
                raise explain_timeout(workspace, self.limits) from None
            raise
        site = built.site
        if site is None:
            return _unchanged(commit, built.source_digest)
        log.begin_step("pack")
        await self.report_rules(workspace, built, site, log)
        layer = workspace.directory / "layer"
        packed = await run_in_thread(_pack, site, layer)
        files = "1 file" if packed.files == 1 else f"{packed.files} files"
        await log.say(f"{files}, {packed.content_bytes} bytes; {packed.size} bytes when packed")
        await _upload(layer, wanted.layer_url)
        php = await run_in_thread(self.read_php_requirements, site)
        return _result(packed, commit, php, built.source_digest)

    @property
    def _fetcher(self) -> Fetcher:
        return Fetcher(self.sandbox, self.limits, self.rules, self.resolve)

    async def run_commands(
        self, workspace: Workspace, task: Assignment, wanted: Build, log: BuildLog, commit: Commit
    ) -> BuiltSite:
        """Install and build as the project says."""
        plan = await run_in_thread(projects.plan_build, workspace.source, _named_root(wanted))
        digest = relevance.digest(commit.tree, plan.relevant, plan.image, plan.node)
        if digest and digest == wanted.unchanged_source:
            log.begin_step("build")
            await log.say("skipped: nothing that this site is built from has changed since the live release")
            return BuiltSite(None, source_digest=digest)
        if plan.plain:
            log.begin_step("build")
            await log.say("nothing to build: the files are published as they are")
        else:
            await self._run_plan(workspace, task, wanted, log, plan)
        site = await run_in_thread(projects.find_output, workspace.source, plan)
        await log.say(f"the site is in {site.relative_to(workspace.source)}")
        return BuiltSite(site, plan.directory, digest)

    async def _run_plan(
        self, workspace: Workspace, task: Assignment, wanted: Build, log: BuildLog, plan: BuildPlan
    ) -> None:
        log.begin_step("install")
        chosen = await run_in_thread(self._choose_toolchain, plan)
        if plan.generator is not None:
            await log.say(f"this is a project of {plan.generator.title}")
        if plan.node != node_versions.DEFAULT:
            await log.say(f"Node.js {NODE_VERSIONS[plan.node]}")
        runner = replace(
            self,
            sandbox=chosen.sandbox,
            manager=plan.manager,
            rules=self.rules.plus(*plan.manager.hosts, *chosen.hosts),
            more_environment=chosen.environment,
        )
        async with self.caches.borrow(task.environment, workspace.cache, workspace.owner) as cache:
            mounts = (*chosen.mounts, *((BindMount(cache, "/cache", writable=True),) if cache else ()))
            for command in plan.prepare:
                await runner.run_step(workspace, wanted, log, "install", command, mounts)
            if plan.install_in is not None:
                await runner.install(workspace, wanted, log, plan.install_in, mounts)
            if plan.command is not None:
                await runner.run_step(workspace, wanted, log, "build", plan.command, mounts)

    def _choose_toolchain(self, plan: BuildPlan) -> Toolchain:
        if self.toolchains is None:
            return Toolchain(self.sandbox)
        return self.toolchains.choose(self.sandbox, plan.image, plan.node)

    async def install(
        self,
        workspace: Workspace,
        wanted: Build,
        log: BuildLog,
        directory: str,
        mounts: tuple[BindMount, ...],
    ) -> None:
        if (provision := self.manager.provision) is not None:
            # Without the cache, which earlier builds could write to.
            fixed = tuple(mount for mount in mounts if not mount.writable)
            await replace(self, manager=NPM).run_step(workspace, wanted, log, "install", provision, fixed)
        await self.run_step(workspace, wanted, log, "install", self.manager.install(directory), mounts)

    async def report_rules(self, workspace: Workspace, built: BuiltSite, site: Path, log: BuildLog) -> None:
        """Say which rules the site has, and which cannot be used. They are applied when it is deployed."""
        await run_in_thread(projects.copy_site_file, workspace.source, built.project, site)
        rules = await run_in_thread(check_rules, site)
        if rules.redirects or rules.headers:
            await log.say(f"{len(rules.redirects)} redirects and {len(rules.headers)} header rules")
        for warning in rules.warnings:
            await log.say(f"warning: {printable(warning)}")

    def read_php_requirements(self, site: Path) -> tuple[PhpRequirement, ...]:  # noqa: ARG002
        """Which versions of PHP the code is for. Blocks."""
        return ()

    async def run_step(
        self,
        workspace: Workspace,
        wanted: Build,
        log: BuildLog,
        name: str,
        command: Command,
        mounts: tuple[BindMount, ...],
    ) -> None:
        log.begin_step(name)
        await log.say(command.shown)
        address = self._fetcher.address_of(wanted.source)
        rules = self.rules.plus(address.rule) if address else self.rules
        environment = self.environment(wanted, cached=any(mount.writable for mount in mounts))
        directory = f"{SOURCE}/{command.directory}" if command.directory else SOURCE
        process = ContainerProcess(command.argv, environment, directory, mounts)
        async with EgressProxy(rules, log.say, self.resolve).listen(workspace.egress):
            ended = await self.sandbox.run(workspace, process, log.sink)
        short = " ".join(command.shown.split()[:3])
        if failed := explain_exit(ended.code, ended.limit_events, workspace, self.limits, short):
            raise failed

    def environment(self, wanted: Build, *, cached: bool) -> dict[str, str]:
        # Servers that the build itself starts are inside the sandbox, without the proxy; a registry on the
        # loopback of the node is outside.
        no_proxy = "" if urlsplit(self.registry).hostname in LOOPBACK else ",".join(LOOPBACK)
        return {
            # Node.js sees the host's memory, and would use more than the limit before it collects garbage.
            "NODE_OPTIONS": f"--max-old-space-size={self.limits.memory_mb * 3 // 4}",
            "NODE_USE_ENV_PROXY": "1",
            **_check_variables(wanted.plain_variables),
            **_check_variables(wanted.variables),
            **dict(wanted.platform_variables),
            **ENVIRONMENT,
            "no_proxy": no_proxy,
            "NO_PROXY": no_proxy,
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
            **self.manager.environment(self.registry, cached=cached),
            **self.more_environment,
        }


def _named_root(wanted: Build) -> str:
    """The directory of the project, if a variable of the environment names it."""
    return dict((*wanted.plain_variables, *wanted.variables)).get(ROOT_VARIABLE, "")


def _with_commit(wanted: Build, commit: Commit) -> Build:
    """Tell the build which commit it builds. An archive has none."""
    known = (("STEAD_COMMIT", commit.commit), ("STEAD_REF", commit.ref))
    fetched = tuple((name, value) for name, value in known if value)
    return msgspec.structs.replace(wanted, platform_variables=(*wanted.platform_variables, *fetched))


def _check_variables(variables: tuple[tuple[str, str], ...]) -> dict[str, str]:
    for name, value in variables:
        if _VARIABLE.fullmatch(name) is None or "\0" in value:
            raise BuildFailed(f"{printable(name)} cannot be the name of a variable, or not with this value")
    return dict(variables)


def _pack(site: Path, layer: Path) -> PackedLayer:
    trees.remove_git_history(site)
    with layer.open("xb") as file:
        try:
            return pack_layer(site, file)
        except TreeRefused as refused:
            raise BuildFailed(f"the site cannot be published: {refused}") from None


async def _upload(layer: Path, address: str) -> None:
    """A failure must not cost a whole build: it is not repeated for an address that refuses the upload."""
    try:
        await transfer.put(layer, address)
    except transfer.TransferFailed as failed:
        raise Refusal("internal", f"the result could not be stored: {failed}") from None


def _unchanged(commit: Commit, source_digest: str) -> BuildResult:
    return BuildResult(
        digest="",
        size=0,
        diff_id="",
        files=0,
        bytes=0,
        commit=commit.commit,
        ref=commit.ref,
        author=commit.author,
        message=commit.message,
        source_digest=source_digest,
        unchanged=True,
    )


def _result(
    packed: PackedLayer, commit: Commit, php: tuple[PhpRequirement, ...], source_digest: str
) -> BuildResult:
    return BuildResult(
        digest=packed.digest,
        size=packed.size,
        diff_id=packed.diff_id,
        files=packed.files,
        bytes=packed.content_bytes,
        directories=packed.directories,
        commit=commit.commit,
        ref=commit.ref,
        author=commit.author,
        message=commit.message,
        php=php,
        source_digest=source_digest,
    )
