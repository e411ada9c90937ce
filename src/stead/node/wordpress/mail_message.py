"""Checks a message that a site wants to send, and makes it ready for the relay."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, getaddresses, make_msgid

MAX_BYTES = 10 << 20
MAX_HEAD = 64 * 1024
MAX_LINE = 998
MAX_LINES = 250_000
MAX_RECIPIENTS, MAX_RECIPIENTS_LENGTH = 50, 4096

_FIELD = re.compile(r"([!-9;-~]{1,76}):[ \t]*(.*)", re.DOTALL)
_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"
)
_ONCE = {
    *("from", "sender", "reply-to", "to", "cc", "bcc", "subject", "date", "message-id", "mime-version"),
    *("content-type", "content-transfer-encoding"),
}
"""A second one was injected by a visitor: a form that copies what he wrote into a header."""
_RECIPIENTS = ("to", "cc", "bcc")
_REMOVED = ("bcc", "return-path", "x-stead-environment")
_OF_SERVERS = re.compile(r"(?:dkim-signature|authentication-results|received|received-spf|arc-.*|resent-.*)")
"""Only mail servers write these. Those of a site would claim something that was never checked."""
_MAILBOX = re.compile(
    r"""(?:(?:"(?:[^"\\]|\\.)*"|[^<>@,;:()"\\\[\]]*) ?<(?P<inside>[^<>\s]+)>|(?P<bare>[^<>\s]+))"""
)
"""One address, maybe with a name: exactly what every program understands in the same way."""


class MailRefused(Exception):
    """The message says why."""


@dataclass(frozen=True)
class OutgoingMail:
    recipients: tuple[str, ...]
    content: bytes


def prepare(raw: bytes, environment: str, sender: str) -> OutgoingMail:
    """The message as the relay gets it. `sender` is used if the message does not say who it is from, or if it
    says that it is from the domain of `sender`. Blocks for a moment if the message is large. Raises
    MailRefused."""
    if len(raw) > MAX_BYTES:
        raise MailRefused(f"the message is larger than {MAX_BYTES >> 20} MiB")
    if raw.count(b"\n") > MAX_LINES:
        raise MailRefused("the message has too many lines")
    raw = raw.replace(b"\r\n", b"\n")
    if b"\r" in raw or b"\0" in raw:
        raise MailRefused("the message contains a control character")
    head, _, body = raw.partition(b"\n\n")
    fields = _read_fields(head)
    recipients = _recipients([value for name, value in fields if name.lower() in _RECIPIENTS])
    kept = _with_own_sender([field for field in fields if _is_kept(field[0].lower())], sender)
    names = {name.lower() for name, _ in kept}
    added = {
        "from": ("From", sender),
        "date": ("Date", format_datetime(datetime.now(UTC))),
        "message-id": ("Message-ID", make_msgid(domain=sender.rpartition("@")[2])),
    }
    kept += [field for name, field in added.items() if name not in names]
    lines = [f"{name}: {value}" for name, value in (*kept, ("X-Stead-Environment", environment))]
    text = "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n\n" + body
    return OutgoingMail(recipients, text.replace(b"\n", b"\r\n"))


def _read_fields(head: bytes) -> list[tuple[str, str]]:
    if len(head) > MAX_HEAD:
        raise MailRefused("the header is too long")
    text = head.decode("utf-8", "surrogateescape")
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        raise MailRefused("a line of the header is too long")
    fields: list[tuple[str, str]] = []
    for unfolded in re.split(r"\n(?![ \t])", text):
        found = _FIELD.fullmatch(unfolded)
        if found is None:
            raise MailRefused("the header is malformed")
        fields.append((found[1], found[2]))
    names = [name.lower() for name, _ in fields]
    if twice := sorted(name for name in _ONCE if names.count(name) > 1):
        raise MailRefused(f"the header has more than one `{twice[0]}`")
    return fields


def _is_kept(name: str) -> bool:
    return name not in _REMOVED and _OF_SERVERS.fullmatch(name) is None


def _with_own_sender(fields: list[tuple[str, str]], sender: str) -> list[tuple[str, str]]:
    """Nobody may write in the name of the operator, for whose domain the relay vouches. Such a message is
    sent from the address of the operator that is meant for sites, without a name; answers go to the address
    that it had."""
    kept, replies = [], any(name.lower() == "reply-to" for name, _ in fields)
    for name, value in fields:
        if name.lower() not in ("from", "sender"):
            kept.append((name, value))
            continue
        address = _mailbox(value)
        if not _is_related(address.rpartition("@")[2].lower(), sender.rpartition("@")[2].lower()):
            kept.append((name, _on_one_line(value)))
        elif name.lower() == "from":
            kept.append((name, sender))
            if not replies and address.lower() != sender.lower():
                kept.append(("Reply-To", address))
    return kept


def _mailbox(value: str) -> str:
    """The only address of a sender."""
    found = _MAILBOX.fullmatch(_on_one_line(value))
    address = (found["inside"] or found["bare"]) if found else ""
    # Programs that decode `=?…?=` also in an address would show another one.
    if not _is_address(address) or "=?" in address:
        raise MailRefused("the sender is not exactly one address")
    return address


def _is_related(one: str, other: str) -> bool:
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _on_one_line(value: str) -> str:
    line = re.sub(r"\s+", " ", value).strip()
    if len(line) > MAX_LINE - len("Sender: "):
        raise MailRefused("a line of the header is too long")
    return line


def _is_address(text: str) -> bool:
    labels = text.rpartition("@")[2].split(".")
    # `root@localhost` or an IP address would reach the machines of the operator.
    return (
        _ADDRESS.fullmatch(text) is not None
        and ".." not in text
        and len(labels) > 1
        and not labels[-1].isdecimal()
    )


def _recipients(values: list[str]) -> tuple[str, ...]:
    # The parser is slow, and recursive.
    if sum(len(value) for value in values) > MAX_RECIPIENTS_LENGTH:
        raise MailRefused("too many recipients")
    try:
        parsed = getaddresses([re.sub(r"\s+", " ", value) for value in values])
    except RecursionError:
        raise MailRefused("a recipient is no address") from None
    addresses = dict.fromkeys(address for _, address in parsed if address)
    if not addresses:
        raise MailRefused("the message has no recipient")
    if len(addresses) > MAX_RECIPIENTS:
        raise MailRefused(f"the message has more than {MAX_RECIPIENTS} recipients")
    for address in addresses:
        if not _is_address(address):
            raise MailRefused("a recipient is no address")
    return tuple(addresses)
