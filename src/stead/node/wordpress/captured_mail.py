"""Captures the mail of clones instead of sending it: a copy of a site has the addresses of real customers.

The latest messages are in memory until the control plane had time to receive them.
"""

import asyncio
import re
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from email import message_from_bytes, policy

from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.mail import read_message, skip_message
from stead.node.wordpress.mail_message import MAX_BYTES, MailRefused
from stead.protocol.commands import CapturedMail

PER_HOUR = 60
"""Of one clone; fewer than the control plane keeps, so that repeating one never brings it back."""
MAX_ALL = 300
KEPT_SECONDS = 3600.0
MAX_PARSED = 256 * 1024
MAX_HEAD, MAX_FIELD = 64 * 1024, 2048
"""The time that the parser takes for a field grows with the square of its length."""
MAX_TEXT, MAX_LINE, MAX_RECIPIENTS = 32_768, 1000, 50
_PART_FIELD = re.compile(rb"^content-[a-z-]+:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)
_SECRET = re.compile(r"([?&;](?:key|adminhash|newuseremail|confirm_key)=)[^\s&\"'<>]+", re.IGNORECASE)
"""In links that set a new password or address. Not everybody who may read the mail may sign in."""


class CapturedMails:
    def __init__(self) -> None:
        self._mails: deque[CapturedMail] = deque(maxlen=MAX_ALL)
        self._places: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._attempts: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=PER_HOUR))

    async def accept(self, environment: str, size: int, reader: asyncio.StreamReader) -> str:
        """Why the message that follows is not captured; empty if it is."""
        async with self._places[environment]:
            if reason := self._why_refused(environment, size):
                if size <= 2 * MAX_BYTES:
                    await skip_message(reader, size)
                return reason
            self._attempts[environment].append(time.time())
            try:
                raw = await read_message(reader, size)
            except MailRefused as refused:
                return str(refused)
            self._mails.append(await run_in_thread(_summarize, environment, raw))
        return ""

    def list_mails(self) -> Sequence[CapturedMail]:
        """Those of the last hour, oldest first."""
        oldest = time.time() - KEPT_SECONDS
        while self._mails and self._mails[0].captured_at < oldest:
            self._mails.popleft()
        return list(self._mails)

    def forget(self, environment: str) -> None:
        kept = [mail for mail in self._mails if mail.environment != environment]
        self._mails = deque(kept, maxlen=MAX_ALL)
        self._places.pop(environment, None)
        self._attempts.pop(environment, None)

    def _why_refused(self, environment: str, size: int) -> str:
        if size > MAX_BYTES:
            return f"the message is larger than {MAX_BYTES >> 20} MiB"
        attempts = self._attempts[environment]
        if len(attempts) == PER_HOUR and attempts[0] > time.time() - KEPT_SECONDS:
            return f"{PER_HOUR} messages of the clone were captured within an hour"
        return ""


def _summarize(environment: str, raw: bytes) -> CapturedMail:
    head = dict.fromkeys(("from", "to", "cc", "bcc", "subject"), "")
    text = ""
    try:
        message = message_from_bytes(_shorten(raw[:MAX_PARSED]), policy=policy.default)
        for name in head:
            head[name] = _line(message.get(name, ""))
        body = message.get_body(("plain", "html"))
        text = str(body.get_content()) if body is not None else ""
    except Exception:  # noqa: BLE001 - the parser fails in many ways, and any message is worth showing
        text = raw[:MAX_TEXT].decode(errors="replace")
    recipients = [
        each.strip() for name in ("to", "cc", "bcc") for each in head[name].split(",") if each.strip()
    ]
    return CapturedMail(
        key=secrets.token_hex(16),
        environment=environment,
        captured_at=time.time(),
        sender=head["from"],
        recipients=tuple(recipients[:MAX_RECIPIENTS]),
        subject=head["subject"],
        text=_SECRET.sub(r"\1…", _printable(text))[:MAX_TEXT],
        size=len(raw),
    )


def _shorten(raw: bytes) -> bytes:
    """The message with fields of a bounded length in its head and in those of its parts."""
    head, separator, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
    fields = re.split(rb"\n(?![ \t])", head[:MAX_HEAD])
    body = _PART_FIELD.sub(lambda field: field[0][:MAX_FIELD], body)
    return b"\n".join(field[:MAX_FIELD] for field in fields) + separator + body


def _line(value: object) -> str:
    return _printable(" ".join(str(value).split()))[:MAX_LINE]


def _printable(text: str) -> str:
    """Without what a database or JSON cannot contain."""
    return text.replace("\0", "").encode(errors="replace").decode()
