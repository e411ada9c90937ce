"""Switches the version of PHP that an environment runs on: checked in a container of its own, then replaced
behind the socket, and back at once if the site does not answer any more.

A version is an image of the platform. Which one an environment uses is part of its desired state, so it runs
either the old or the new one, whenever the agent is stopped.
"""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from stead.node.containers.limits import ContainerFailed
from stead.node.containers.runc import Runc
from stead.node.databases.node_databases import NodeDatabases
from stead.node.drivers.driver import Assignment, Output, Refusal
from stead.node.drivers.layout import check_host
from stead.node.hosting.desired_state import DesiredState
from stead.node.hosting.environment import HostedEnvironment, NodeBusy
from stead.node.hosting.hosts import Hosts
from stead.node.images.image_store import ImageStore
from stead.node.images.on_demand import ImageMaker
from stead.node.wordpress import fastcgi_client
from stead.node.wordpress.php_requirements import has_composer_files, list_unmet
from stead.node.wordpress.plan import WordPress, WordPressPlan
from stead.node.wordpress.prober import find_failure
from stead.node.wordpress.script_container import PART
from stead.node.wordpress.spec import WordPressSecrets, WordPressSpec
from stead.protocol.work.hosting import CheckPhp, SwitchPhp

INCOMPATIBLE, UNHEALTHY = "php.incompatible", "php.unhealthy"
ANSWER_SECONDS = 60.0
NAMED = 5
"""How many requirements the error of a job names."""
SHOWN = 20
"""And its output."""

MakePlan = Callable[[WordPress, str], WordPressPlan]
ReleaseImages = Callable[[str, Collection[str]], None]


class PhpVersions:
    def __init__(
        self,
        state: DesiredState[WordPressSpec, WordPressSecrets],
        hosts: Hosts,
        images: ImageStore,
        image_maker: ImageMaker | None,
        runc: Runc,
        databases: NodeDatabases,
        make_plan: MakePlan,
        release_images: ReleaseImages,
    ) -> None:
        """`release_images` releases all images of an environment but the given ones."""
        self._state, self._hosts, self._databases, self._runc = state, hosts, databases, runc
        self._images, self._image_maker = images, image_maker
        self._make_plan, self._release_images = make_plan, release_images

    async def make_images(self, work: CheckPhp, desired: WordPress | None, output: Output) -> None:
        """Make the images that a check needs, on a node that makes images on demand. Takes minutes."""
        if self._image_maker is None:
            return
        await self._image_maker.ensure(f"php{work.php}", output)
        if desired is not None and has_composer_files(self._make_plan(desired, PART).release):
            await self._image_maker.ensure("composer", output)

    async def check(self, task: Assignment, desired: WordPress | None, work: CheckPhp) -> None:
        """Raises ImageUnavailable."""
        if desired is None or desired.spec.state != "installed":
            await task.output.say(f"php: {work.host} is not on this node; it is made with PHP {work.php}")
            return
        host, now = check_host(work.host), desired.spec
        image = self._images.find(f"php{work.php}")
        before = self._make_plan(desired, PART)
        after = self._make_plan(_with_php(desired, work.php, image.metadata.digest), PART)
        await task.output.say(
            f"php: {host}: php{now.settings.php} {now.php_image} -> php{work.php} {image.metadata.digest}"
        )
        if not desired.suspended:
            await self._databases.wait_until_ready()
        unmet = await self._list_unmet(after, before)
        for each in unmet:
            await task.output.say(f"php: {each}")
        if unmet and not work.force:
            raise Refusal(INCOMPATIBLE, f"{host} cannot run on PHP {work.php}: {_summarize(unmet)}")
        if desired.suspended:
            await task.output.say(f"php: {host} is suspended, so it is not probed")
        elif work.probe:
            await self._probe(task, after, before, host)

    async def _list_unmet(self, after: WordPressPlan, before: WordPressPlan) -> list[str]:
        """What the current version fulfils and the new one does not. That it is not known counts as well. The
        database of a suspended environment cannot be read."""
        composer = self._find_composer(after)
        plugins = not after.desired.suspended
        found = await list_unmet(after, self._runc, composer, plugins=plugins)
        unmet = [f"what its code requires is not known: {found.missing}"] if found.missing else []
        if found.lines:
            already = await list_unmet(before, self._runc, composer, plugins=plugins)
            unmet += [each for each in found.lines if each not in already.lines]
        return unmet[:SHOWN]

    def _find_composer(self, plan: WordPressPlan) -> Path | None:
        return self._images.find("composer").root if has_composer_files(plan.release) else None

    async def _probe(self, task: Assignment, after: WordPressPlan, before: WordPressPlan, host: str) -> None:
        failure = await find_failure(after, self._runc, host, task)
        if not failure:
            return
        php = before.desired.spec.settings.php
        await task.output.say(f"php: {host} fails; trying PHP {php}, which it has now")
        if await find_failure(before, self._runc, host, task):
            await task.output.say(f"php: {host} fails with both versions, so this is no reason to stay")
            return
        raise Refusal(UNHEALTHY, f"{host} fails on PHP {after.desired.spec.settings.php}: {failure}")

    async def switch(self, task: Assignment, before: WordPress | None, work: SwitchPhp) -> None:
        if before is None or before.spec.state != "installed":
            return
        php, digest = self._choose_image(before.spec, work)
        wanted = _with_php(before, php, digest, restored=work.restore)
        hosted = self._hosts.find(before.environment)
        # The agent was stopped between the switch and the check.
        interrupted = before.spec.php_unconfirmed and wanted == before
        healthy = interrupted
        if interrupted:
            now = before.spec
            before = _with_php(before, now.previous_php, now.previous_php_image, restored=True)
        elif hosted is not None and hosted.state == "awake":
            await self._databases.wait_until_ready()
            healthy = await self._answers(hosted, before)
        missing = interrupted or (healthy and wanted != before)
        self._record(_with_confirmation(wanted, missing=missing and not work.restore))
        if hosted is None:
            # It could not be brought back. This is tried again, with the new version.
            return
        try:
            await self._apply(hosted, wanted)
            failed = healthy and not await self._answers(hosted, wanted)
        except NodeBusy:
            raise
        except ContainerFailed:
            failed = True
        if failed and not work.restore:
            self._record(_with_confirmation(before, missing=False))
            with suppress(ContainerFailed):
                await self._apply(hosted, before)
            raise Refusal(UNHEALTHY, f"the site does not answer on PHP {php}")
        self._record(_with_confirmation(wanted, missing=False))
        await task.output.say(f"php: the environment has PHP {php}")

    def _choose_image(self, spec: WordPressSpec, work: SwitchPhp) -> tuple[str, str]:
        """The version and the digest of the image. What is restored may be an image that new sites do not
        use any more."""
        if work.restore and work.php == spec.settings.php:
            return work.php, spec.php_image
        if work.restore and work.php == spec.previous_php:
            return work.php, spec.previous_php_image
        return work.php, self._images.find(f"php{work.php}").metadata.digest

    def _record(self, wanted: WordPress) -> None:
        """First the image is held: the state must not name one that has been removed."""
        spec = wanted.spec
        self._images.hold(self._images.get(f"php{spec.settings.php}", spec.php_image), wanted.environment)
        self._state.put(wanted.environment, wanted.site, spec, wanted.secrets, suspended=wanted.suspended)
        self._release_images(wanted.environment, {spec.php_image, spec.core_image, spec.previous_php_image})

    async def _apply(self, hosted: HostedEnvironment, wanted: WordPress) -> None:
        """Visitors who come while the container is replaced wait. One that does not run stays so."""
        plan = self._make_plan(wanted, "")
        await self._hosts.open(wanted.environment, plan, suspended=wanted.suspended)
        if hosted.state == "awake":
            await hosted.renew()

    async def _answers(self, hosted: HostedEnvironment, desired: WordPress) -> bool:
        """Whether PHP answers visitors, and not with an error of its own."""
        plan = self._make_plan(desired, "")
        try:
            async with asyncio.timeout(ANSWER_SECONDS), hosted.use():
                response = await fastcgi_client.request(plan.socket, _parameters(desired.spec.settings.url))
        except (TimeoutError, ContainerFailed, fastcgi_client.RequestFailed, OSError):
            return False
        return bool(response) and not response.startswith(b"Status: 5")


def _summarize(unmet: list[str]) -> str:
    more = [f"and {len(unmet) - NAMED} more"] if len(unmet) > NAMED else []
    return "; ".join([*unmet[:NAMED], *more])


def _with_php(desired: WordPress, php: str, digest: str, *, restored: bool = False) -> WordPress:
    """The same environment on another image. It remembers the one that it had, unless that is `restored`."""
    spec = desired.spec
    if (spec.settings.php, spec.php_image) == (php, digest):
        return desired
    back = restored and (spec.previous_php, spec.previous_php_image) == (php, digest)
    changed = msgspec.structs.replace(
        spec,
        settings=msgspec.structs.replace(spec.settings, php=php),
        php_image=digest,
        previous_php="" if back else spec.settings.php,
        previous_php_image="" if back else spec.php_image,
    )
    return msgspec.structs.replace(desired, spec=changed)


def _with_confirmation(desired: WordPress, *, missing: bool) -> WordPress:
    return msgspec.structs.replace(
        desired, spec=msgspec.structs.replace(desired.spec, php_unconfirmed=missing)
    )


def _parameters(url: str) -> dict[str, str]:
    """Of a request for the front page, without its content."""
    host = urlsplit(url).hostname or ""
    return {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": "HEAD",
        "SCRIPT_FILENAME": "/srv/site/index.php",
        "SCRIPT_NAME": "/index.php",
        "REQUEST_URI": "/",
        "QUERY_STRING": "",
        "DOCUMENT_ROOT": "/srv/site",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": host,
        "SERVER_PORT": "443",
        "HTTPS": "on",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": host,
        "HTTP_USER_AGENT": "stead-probe",
    }
