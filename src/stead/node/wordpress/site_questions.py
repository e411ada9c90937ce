"""Has the PHP of a WordPress site answer questions about its content, users, components and events.

The script runs in the site, with its plugins, so it may print anything, hang or end early. Its answer stands
between marks that are new for each question.
"""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec import Raw, Struct

from stead.node.containers.limits import ContainerFailed
from stead.node.drivers.driver import Refusal
from stead.node.hosting.environment import HostedEnvironment, NodeBusy
from stead.node.wordpress import fastcgi_client
from stead.node.wordpress.fastcgi_client import platform_parameters
from stead.node.wordpress.paths import EnvironmentPaths
from stead.node.wordpress.question_files import QuestionFiles
from stead.protocol.questions import (
    FAILED,
    INVALID,
    MAX_ANSWER_BYTES,
    NO_ENVIRONMENT,
    NODE_BUSY,
    NOT_FOUND,
    REFUSED,
    SUSPENDED,
    Question,
)

SCRIPT = "/run/stead/platform/question.php"
RENEW, RENEW_SECONDS = "/run/stead/platform/renew.php", 5.0
AT_ONCE = 2
"""Questions that a site answers at the same time. Visitors need its workers too."""
RUN_SECONDS = 310.0
"""PHP-FPM ends a request after 300 seconds."""
_MAX_RESPONSE = MAX_ANSWER_BYTES + (64 << 10)
_CODES = {"refused": REFUSED, "not_found": NOT_FOUND, "failed": FAILED}


class ScriptAnswer(Struct, frozen=True):
    """What the script prints: a result, or why there is none."""

    result: Raw = Raw(b"")
    error: str = ""
    reason: str = ""


_decode = msgspec.json.Decoder(ScriptAnswer).decode


class SiteQuestions:
    def __init__(
        self,
        find: Callable[[str], HostedEnvironment | None],
        paths: Callable[[str], EnvironmentPaths],
        files: QuestionFiles,
    ) -> None:
        self._find, self._paths, self._files = find, paths, files
        self._places: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self._running: set[asyncio.Task[bytes]] = set()

    async def ask(self, question: Question, url: str) -> bytes:
        """The result, as JSON. Wakes a sleeping site. Raises Refusal."""
        hosted = self._find(question.environment)
        if hosted is None:
            raise Refusal(NO_ENVIRONMENT, "the environment is not on this node")
        if hosted.state == "suspended":
            raise Refusal(SUSPENDED, "the environment is suspended")
        file = await self._files.fetch(question) if question.file else b""
        place = self._places[question.environment]
        await place.acquire()
        mark = secrets.token_hex(16)
        task = asyncio.create_task(self._run(hosted, question, url, mark, file))
        # PHP goes on when nobody waits any more. Until it ends, it keeps its place: a site that hangs must
        # not fill its workers with questions.
        self._running.add(task)
        task.add_done_callback(lambda ended: self._end(ended, place))
        return _read(await asyncio.shield(task), mark)

    async def renew_code(self, environment: str, place: str) -> None:
        """Have PHP read the files in a directory again. A sleeping site has read none. If the site cannot do
        it, PHP reads them a few seconds later."""
        hosted = self._find(environment)
        if hosted is None or hosted.state != "awake":
            return
        parameters = platform_parameters(RENEW, "/", "https://localhost/") | {"STEAD_PLACE": place}
        with suppress(fastcgi_client.RequestFailed, OSError, TimeoutError):
            async with asyncio.timeout(RENEW_SECONDS):
                await fastcgi_client.request(self._paths(environment).socket, parameters)

    def _end(self, task: asyncio.Task[bytes], place: asyncio.Semaphore) -> None:
        place.release()
        self._running.discard(task)
        if not task.cancelled():
            # Nobody may wait for the error any more.
            task.exception()

    async def _run(
        self, hosted: HostedEnvironment, question: Question, url: str, mark: str, file: bytes
    ) -> bytes:
        """The file follows the question in the body of the request."""
        body = question.body + file
        parameters = platform_parameters(SCRIPT, "/wp-json/", url) | {
            "REQUEST_METHOD": "PUT" if file else "POST",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "STEAD_QUESTION_BYTES": str(len(question.body)),
            "STEAD_QUESTION": question.kind,
            "STEAD_ENVIRONMENT": question.environment,
            "STEAD_SECONDS": str(max(1, int(question.seconds))),
            "STEAD_MARK": mark,
        }
        socket = self._paths(question.environment).socket
        try:
            async with asyncio.timeout(RUN_SECONDS), hosted.use():
                return await fastcgi_client.request(socket, parameters, body, limit=_MAX_RESPONSE)
        except NodeBusy:
            raise Refusal(NODE_BUSY, "the node has no room to wake the site now") from None
        except (ContainerFailed, fastcgi_client.RequestFailed, OSError, TimeoutError) as error:
            raise Refusal(FAILED, str(error) or type(error).__name__) from None


def _read(response: bytes, mark: str) -> bytes:
    begin, end = f"<{mark}>".encode(), f"</{mark}>".encode()
    start, stop = response.rfind(begin), response.rfind(end)
    if start < 0 or stop < start:
        raise Refusal(FAILED, "PHP ended before it answered; the log of the site may say why")
    try:
        answer = _decode(response[start + len(begin) : stop])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Refusal(INVALID, "the site has answered something else") from None
    if answer.error:
        raise Refusal(_CODES.get(answer.error, FAILED), answer.reason)
    return bytes(answer.result)
