"""Commands for the code of git-managed environments."""

from stead.node.containers.limits import ContainerFailed
from stead.node.containers.runc import Runc
from stead.node.databases.node_databases import NodeDatabases
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.drivers.releases import Releases
from stead.node.scanning.release_checksums import ReleaseChecksums
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.attachments import Attachments
from stead.node.wordpress.environments import Environments, with_release
from stead.node.wordpress.plan import WordPress
from stead.node.wordpress.prober import UNHEALTHY, probe_release
from stead.node.wordpress.release_layout import read_layout
from stead.node.wordpress.script_container import PART
from stead.protocol.work import EnsureRelease, Probe


class ReleaseCommands:
    def __init__(
        self,
        environments: Environments,
        releases: Releases,
        attachments: Attachments,
        databases: NodeDatabases,
        runc: Runc,
        checksums: ReleaseChecksums,
    ) -> None:
        self._environments, self._releases, self._attachments = environments, releases, attachments
        self._databases, self._runc, self._checksums = databases, runc, checksums
        releases.add_user(self._list_used)

    async def ensure(self, task: Assignment, wanted: EnsureRelease) -> None:
        """The release is here and verified. The environment does not run it yet."""
        async with self._environments.use(task) as name:
            if self._environments.state.find_spec(name) is None:
                raise Refusal("environment.not_found", "the environment is not on this node")
            await self._fetch(task, wanted)

    async def probe(self, task: Assignment, wanted: Probe) -> None:
        """Probe a release in a container of its own; the environment serves its visitors meanwhile."""
        async with self._environments.use(task) as name:
            desired = self._environments.state.find(name)
            if desired is None:
                raise Refusal("environment.not_found", "the environment is not on this node")
            release = layout.release_name(wanted.release)
            if not (layout.releases(self._environments.data) / release).is_dir():
                raise Refusal(UNHEALTHY, "the release is not on this node")
            await self._databases.wait_until_ready()
            plan = self._environments.plan(with_release(desired, release), part=PART)
            await probe_release(plan, self._runc, layout.check_host(wanted.host), task)

    async def change(self, task: Assignment, desired: WordPress, wanted: EnsureRelease | None) -> WordPress:
        """The environment is to run this release, or before the first one what comes with WordPress."""
        release = await self._fetch(task, wanted) if wanted else ""
        desired = self._environments.put(with_release(desired, release))
        await self._attachments.serve_files(self._environments.plan(desired))
        return desired

    async def collect(self) -> None:
        """Remove releases that no environment needs."""
        await self._releases.collect(layout.environments(self._environments.data))

    async def _fetch(self, task: Assignment, wanted: EnsureRelease) -> str:
        """Returns the name of the release."""
        new = await self._releases.ensure(wanted, "cms")
        await self._releases.add_to_list(self._environments.paths(task.environment).home, wanted)
        place = "is verified and in place" if new else "was here already"
        await task.output.say(f"wordpress: the release {wanted.digest} {place}")
        name = layout.release_name(wanted.digest)
        try:
            read_layout(layout.releases(self._environments.data) / name)
        except ContainerFailed as unusable:
            raise Refusal("artifact.signature_invalid", str(unusable)) from None
        if new:
            await run_in_thread(self._checksums.record, name)
        return name

    def _list_used(self) -> list[str]:
        return [spec.release for spec in self._environments.state.specs().values() if spec.release]
