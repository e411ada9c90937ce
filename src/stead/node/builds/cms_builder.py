"""The builder of git-managed WordPress sites: Composer if the project has it, otherwise the tree as it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stead.node.builds import composer_files, relevance, wordpress_projects
from stead.node.builds.builder import BuiltSite, StaticBuilder
from stead.node.builds.failures import BuildFailed
from stead.node.builds.fetcher import Commit
from stead.node.builds.log import BuildLog
from stead.node.builds.package_managers import Command
from stead.node.builds.sandbox import Sandbox
from stead.node.builds.workspaces import Workspace
from stead.node.containers.bundle import BindMount
from stead.node.containers.egress_rules import HostRule
from stead.node.drivers.driver import Assignment, Handler
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.builds import Build, PhpRequirement

COMPOSER = (
    *("composer", "install", "--no-dev", "--no-interaction", "--no-progress", "--prefer-dist"),
    "--optimize-autoloader",
    # The site may run with another version of PHP than the builder. The installed code checks it again.
    *("--ignore-platform-req=php", "--ignore-platform-req=ext-*"),
)


@dataclass(frozen=True)
class CmsBuilder(StaticBuilder):
    find_composer: Callable[[], Sandbox | None] = lambda: None
    """Returns the sandbox of Composer; None while the node does not have its image."""
    composer_hosts: tuple[HostRule, ...] = ()
    """Where Composer may download packages, besides the hosts of every build."""

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(Build, self.build, ("cms",))]

    async def run_commands(
        self, workspace: Workspace, task: Assignment, wanted: Build, log: BuildLog, commit: Commit
    ) -> BuiltSite:
        digest = relevance.digest(commit.tree, None, "cms")
        if digest and digest == wanted.unchanged_source:
            log.begin_step("build")
            await log.say("skipped: nothing has changed since the live release")
            return BuiltSite(None, source_digest=digest)
        project = await run_in_thread(wordpress_projects.plan_build, workspace.source)
        if project.install:
            async with self.caches.borrow(task.environment, workspace.cache, workspace.owner) as cache:
                mounts = (BindMount(cache, "/cache", writable=True),) if cache else ()
                await self._install(workspace, wanted, log, mounts)
        else:
            log.begin_step("build")
            await log.say("no composer.lock: the files are used as they are")
        release = workspace.work / "release"
        made = await run_in_thread(wordpress_projects.make_release, workspace.source, project, release)
        for what in made.left_out:
            await log.say(f"left out: {what}")
        layout = made.layout
        autoloader = f" with {layout.autoloader}" if layout.autoloader else ""
        await log.say(
            f"the code of the site is {layout.content}{autoloader}; its theme is {layout.stylesheet}"
        )
        return BuiltSite(release, source_digest=digest)

    def read_php_requirements(self, site: Path) -> tuple[PhpRequirement, ...]:
        return composer_files.read_php_requirements(site)

    async def _install(
        self, workspace: Workspace, wanted: Build, log: BuildLog, mounts: tuple[BindMount, ...]
    ) -> None:
        sandbox = await run_in_thread(self.find_composer)
        if sandbox is None:
            raise BuildFailed("this node cannot run Composer: it does not have the image composer")
        installer = replace(self, sandbox=sandbox, rules=self.rules.plus(*self.composer_hosts))
        command = Command(COMPOSER, " ".join(COMPOSER))
        await installer.run_step(workspace, wanted, log, "install", command, mounts)

    def environment(self, wanted: Build, *, cached: bool) -> dict[str, str]:
        return {
            **super().environment(wanted, cached=cached),
            "COMPOSER_CACHE_DIR": "/cache/composer" if cached else "/work/home/.composer/cache",
            "COMPOSER_HOME": "/work/home/.composer",
            # A release contains no links.
            "COMPOSER_MIRROR_PATH_REPOS": "1",
            "COMPOSER_NO_AUDIT": "1",
        }
