"""Keys and values in JetStream, with revisions. A write that names a revision is done only if that is still
the revision of its key."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stead.control.engines.nats import MESSAGE_TTL, Nats, NatsApiError, NatsNotFound

ACK_SECONDS = 3.0
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_WRONG_LAST_SEQUENCE = 10071


class RevisionConflict(Exception):
    """The key has another revision."""


@dataclass(frozen=True, slots=True)
class StateEntry:
    """The last message of a subject; revision 0 if there is none."""

    revision: int = 0
    data: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class StateStream:
    def __init__(self, nats_: Nats) -> None:
        self._nats = nats_

    async def get(self, stream: str, subject: str) -> StateEntry:
        """Read from the leader of the stream. Raises one of NATS_UNREACHABLE."""
        try:
            found = await self._nats.js.get_last_msg(stream, subject, direct=False)
        except NatsNotFound:
            return StateEntry()
        return StateEntry(found.seq or 0, found.data or b"", found.headers or {})

    async def put(
        self,
        subject: str,
        data: bytes,
        *,
        revision: int,
        headers: Mapping[str, str] | None = None,
        expires: int | None = None,
    ) -> int:
        """Return the new revision. Raises RevisionConflict, or one of NATS_UNREACHABLE: then nobody knows
        whether it was written."""
        sent = {**(headers or {}), _EXPECTED: str(revision)}
        if expires is not None:
            sent[MESSAGE_TTL] = f"{max(1, expires)}s"
        try:
            ack = await self._nats.js.publish(subject, data, timeout=ACK_SECONDS, headers=sent)
        except NatsApiError as error:
            if error.err_code != _WRONG_LAST_SEQUENCE:
                raise
            raise RevisionConflict from None
        return ack.seq

    async def list_subjects(self, stream: str, matching: str) -> dict[str, int]:
        """How many messages each subject has."""
        info = await self._nats.js.stream_info(stream, subjects_filter=matching)
        return dict(info.state.subjects or {})
