"""Asks the site of an environment, and turns every way to fail into an error of the API.

What a site answers was written by customers. It is decoded into a type with bounds, and believed about
nothing but the site.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from stead.control.engines.nats_questions import NoAnswer, Questions, TooManyQuestions
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import EnvironmentBusy, VisibleEnvironment
from stead.control.http.context import ApiContext
from stead.control.sites import service as sites
from stead.control.sites.question_rules import (
    NodeSilent,
    SiteAnswerInvalid,
    SiteFailed,
    SiteQuestionsExceeded,
    SiteRefused,
    SiteTimedOut,
)
from stead.protocol import questions as protocol
from stead.protocol.commands import DriverSetName
from stead.shared.errors import ApiError, FieldInvalid, NotFound
from stead.shared.mismatches import describe_mismatch

SECONDS = 15.0
MAX_MESSAGE = 300

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AskedSite:
    """Where the site of an environment can be asked. Made in the transaction of a request, used after it."""

    questions: Questions
    node: str | None
    environment: str
    driver: DriverSetName
    owner: str

    async def ask(
        self,
        kind: str,
        answer: type[T],
        missing: type[NotFound] | None,
        body: object = None,
        *,
        seconds: float = SECONDS,
        file: str = "",
        refused: type[SiteRefused] = SiteRefused,
    ) -> T:
        """`missing` is raised if the site does not have what the question names; None if it names nothing.
        `refused` is raised if it refuses. `file` is the signed URL of a file that the site gets."""
        if self.node is None:
            raise NodeSilent
        encoded = msgspec.json.encode({} if body is None else body)
        if len(encoded) > protocol.MAX_QUESTION_BYTES:
            limit = protocol.MAX_QUESTION_BYTES
            raise FieldInvalid(reason=f"The values are longer than {limit} bytes in total.")
        try:
            found = await self.questions.ask(
                *(self.node, self.environment, self.driver, kind, encoded, seconds),
                owner=self.owner,
                file=file,
            )
        except NoAnswer as silence:
            raise NodeSilent(was_asked=silence.was_asked) from None
        except TooManyQuestions:
            raise SiteQuestionsExceeded from None
        if found.code:
            raise _error_of(found, missing, refused, seconds)
        try:
            return msgspec.json.decode(found.body, type=answer)
        except msgspec.ValidationError as error:
            raise SiteAnswerInvalid(reason=f"{describe_mismatch(error)[:MAX_MESSAGE]}.") from None
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise SiteAnswerInvalid(reason="it is not JSON.") from None

    def asking(
        self, kind: str, answer: type[T], missing: type[NotFound] | None, body: object = None, **options: Any
    ) -> Callable[[], Awaitable[T]]:
        """For `Later`."""
        return lambda: self.ask(kind, answer, missing, body, **options)


async def prepare(tx: Tx, context: ApiContext, env: VisibleEnvironment) -> AskedSite:
    """Raises an error if the environment does not run. A sleeping one is woken by the question."""
    if env.status != "running":
        raise EnvironmentBusy(status=env.status)
    mode = (await sites.get_facts(tx, env.site_id)).mode
    node = (await environments.get(tx, env.id)).node_id
    return AskedSite(context.questions, node, env.id, "simulator" if mode == "test" else "live", env.owner)


def _error_of(
    answer: protocol.Answer, missing: type[NotFound] | None, refused: type[SiteRefused], seconds: float
) -> ApiError:
    reason = answer.reason[:MAX_MESSAGE]
    match answer.code:
        case protocol.NOT_FOUND if missing is not None:
            return missing()
        case protocol.NOT_FOUND:
            return SiteAnswerInvalid(reason="it does not find what it was not asked for")
        case protocol.REFUSED:
            return refused(reason=reason)
        case protocol.TIMEOUT:
            return SiteTimedOut(seconds=int(seconds))
        case protocol.TOO_MANY:
            return SiteQuestionsExceeded()
        case protocol.INVALID:
            return SiteAnswerInvalid(reason=reason)
        case protocol.SUSPENDED:
            return EnvironmentBusy(status="suspended")
        case protocol.FAILED:
            return SiteFailed(reason=reason)
        case _:
            return NodeSilent()
