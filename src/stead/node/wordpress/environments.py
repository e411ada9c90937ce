"""The WordPress environments of this node: what each should be, where it is, and who may change it now."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from stead.node.containers.limits import MB
from stead.node.databases.names import schema_name
from stead.node.databases.node_databases import NodeDatabases
from stead.node.disk_space import CODE as SHORT_OF_SPACE
from stead.node.disk_space import DiskSpace
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Output, Refusal
from stead.node.hosting.desired_state import DesiredState
from stead.node.hosting.environment import NodeBusy
from stead.node.images.image_store import ImageStore
from stead.node.images.on_demand import ImageMaker
from stead.node.images.recipe import ImageUnavailable
from stead.node.wordpress.paths import EnvironmentPaths
from stead.node.wordpress.plan import WordPress, WordPressPlan
from stead.node.wordpress.spec import WordPressSecrets, WordPressSpec, new_secrets
from stead.protocol.work.hosting import WordPressSettings
from stead.shared.ids import EnvironmentId

WAKE_SECONDS = 20.0
"""How long a site that wakes waits for MariaDB."""

State = DesiredState[WordPressSpec, WordPressSecrets]


class Environments:
    def __init__(
        self,
        data: Path,
        state: State,
        databases: NodeDatabases,
        images: ImageStore,
        space: DiskSpace,
        *,
        disk_overcommit: float,
        image_maker: ImageMaker | None,
    ) -> None:
        self.data, self.state = data, state
        self._databases, self._images, self._image_maker = databases, images, image_maker
        self._space, self._disk_overcommit = space, disk_overcommit
        self.ready = asyncio.Event()
        """All environments have been brought back."""
        self.images_changed = asyncio.Event()
        """An environment uses another image than before."""
        self._locks: dict[str, asyncio.Lock] = {}
        self._preparing: dict[str, asyncio.Lock] = {}
        self._closing: list[Callable[[str], Awaitable[None]]] = []

    def get(self, name: str) -> WordPress:
        found = self.state.find(name)
        assert found is not None  # noqa: S101
        return found

    def put(self, desired: WordPress) -> WordPress:
        self.state.put(
            desired.environment, desired.site, desired.spec, desired.secrets, suspended=desired.suspended
        )
        return self.get(desired.environment)

    def paths(self, name: str) -> EnvironmentPaths:
        spec = self.state.find_spec(name)
        return EnvironmentPaths(self.data, name, spec.datasets.current if spec else "")

    def plan(self, desired: WordPress, part: str = "") -> WordPressPlan:
        release, dataset = desired.spec.release, desired.spec.datasets.current
        return WordPressPlan(
            desired,
            EnvironmentPaths(self.data, desired.environment, dataset),
            image=self._images.get(f"php{desired.spec.settings.php}", desired.spec.php_image).root,
            core=self._images.get("wordpress", desired.spec.core_image).root,
            database=schema_name(EnvironmentId(desired.environment), desired.spec.datasets.schema),
            database_socket=self._databases.databases.socket,
            limited_socket=self.paths(desired.environment).database_socket if self._databases.gate else None,
            release=layout.releases(self.data) / release if release else None,
            part=part,
            wait_for_database=partial(self._databases.wait_until_ready, WAKE_SECONDS),
        )

    def record(self, task: Assignment, wanted: WordPressSettings, before: WordPress | None) -> WordPress:
        """Store what the environment should be. Its installation, release and data stay what they are."""
        try:
            php, core = self._images.find(f"php{wanted.php}"), self._images.find("wordpress")
        except ImageUnavailable as unavailable:
            raise Refusal("runtime.unsupported", str(unavailable)) from None
        settings = msgspec.structs.replace(wanted, admin_password="")
        made = WordPressSpec(settings, php.metadata.digest, core.metadata.digest)
        kept = before.spec if before else made
        spec = msgspec.structs.replace(made, state=kept.state, release=kept.release, datasets=kept.datasets)
        secrets = before.secrets if before else new_secrets()
        # First the state, which names the images that a removal releases.
        self.state.put(task.environment, task.site, spec, secrets)
        for image in (php, core):
            self._images.hold(image, task.environment)
        self.release_images(task.environment, {php.metadata.digest, core.metadata.digest})
        self.images_changed.set()
        return self.get(task.environment)

    async def make_images(self, wanted: WordPressSettings, output: Output) -> None:
        """On a node that makes images on demand. This takes minutes."""
        if self._image_maker is not None:
            for image in (f"php{wanted.php}", "wordpress"):
                await self._image_maker.ensure(image, output)

    def release_images(self, environment: str, kept: Collection[str] = ()) -> None:
        """All but these: a command that was interrupted may have left more than the latest ones."""
        for image in self._images.list_images():
            if image.metadata.digest not in kept:
                self._images.release(image, environment)

    def room_mb(self) -> int:
        """Below 0 if more was promised under other settings."""
        promised = sum(spec.promised_mb for spec in self.state.specs().values())
        return int(self._space.usage.size * self._disk_overcommit) // MB - promised

    def require_room(self, wanted: WordPressSettings) -> None:
        if self.room_mb() < wanted.promised_mb:
            raise Refusal(SHORT_OF_SPACE, "the node has promised its disk space to other sites")

    def use(self, task: Assignment) -> AbstractAsyncContextManager[str]:
        return self.hold(task.environment)

    @asynccontextmanager
    async def hold(self, environment: str) -> AsyncIterator[str]:
        """The name of the environment. One command at a time changes it, and none before all came back."""
        name = layout.check_identifier(environment)
        await self.ready.wait()
        async with self.lock(name):
            try:
                yield name
            except NodeBusy as busy:
                raise Refusal("node.unavailable", f"the node cannot start the site now: {busy}") from None

    def lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    def preparing_lock(self, name: str) -> asyncio.Lock:
        """Held while a dataset is made or removed. The environment itself can be used meanwhile."""
        return self._preparing.setdefault(name, asyncio.Lock())

    def before_closing(self, end: Callable[[str], Awaitable[None]]) -> None:
        """Have the function called before an environment is suspended or removed, or gets other data: it ends
        what uses it."""
        self._closing.append(end)

    async def end_users(self, environment: str) -> None:
        for end in self._closing:
            await end(environment)


def with_release(desired: WordPress, release: str) -> WordPress:
    return msgspec.structs.replace(desired, spec=msgspec.structs.replace(desired.spec, release=release))


def with_datasets(desired: WordPress, **changes: str | bool | None) -> WordPress:
    datasets = msgspec.structs.replace(desired.spec.datasets, **changes)
    return msgspec.structs.replace(desired, spec=msgspec.structs.replace(desired.spec, datasets=datasets))
