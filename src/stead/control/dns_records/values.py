"""Checks names and values of DNS records, and writes them as a name server stores them. No I/O."""

import ipaddress
import re

import idna

from stead.control.dns_records.rules import Record, RecordConflicts
from stead.shared.errors import FieldInvalid
from stead.shared.wording import quote

MAX_TEXT = 2048
_PIECE = 255
_HOST_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_SRV = re.compile(r"(\d{1,5})\s+(\d{1,5})\s+(\S+)", re.ASCII)
_CAA = re.compile(r'(0|128)\s+(issue|issuewild|iodef)\s+"?([\x20\x21\x23-\x5b\x5d-\x7e]{0,255})"?', re.ASCII)
_APEX = ("@", "")


def complete_name(text: str, zone: str) -> str:
    """`www`, `www.example.com` and `@` are names in the zone `example.com`."""
    given = text.strip().rstrip(".").lower()
    if given in _APEX:
        return zone
    labels = [_to_ascii(label) for label in given.split(".")]
    name = ".".join(labels)
    if name != zone and not name.endswith(f".{zone}"):
        name = f"{name}.{zone}"
    first, *rest = name.split(".")
    if len(name) > 253 or (first != "*" and not _LABEL.fullmatch(first)):
        raise _bad_name(text)
    if not all(_LABEL.fullmatch(label) for label in rest):
        raise _bad_name(text)
    return name


def _to_ascii(label: str) -> str:
    if label.isascii():
        return label
    try:
        return idna.encode(label, uts46=True, transitional=False).decode("ascii").lower()
    except idna.IDNAError:
        raise _bad_name(label) from None


def _bad_name(text: str) -> FieldInvalid:
    return FieldInvalid(
        param="name", reason=f"{quote(text)} is not a name in this zone. Use for example: www, *.shop, @."
    )


def normalize(type_: str, name: str, value: str, ttl: int, priority: int | None, zone: str) -> Record:
    """Raises FieldInvalid, or RecordConflicts for what cannot be at the top of a zone."""
    if name == zone and type_ in ("CNAME", "NS"):
        reason = "a zone has its own name servers." if type_ == "NS" else "a CNAME cannot be at its top."
        raise RecordConflicts(reason=f"{zone} is the name of the zone, and {reason}")
    if type_ in ("MX", "SRV"):
        if priority is None:
            raise FieldInvalid(param="priority", reason=f"A record of the type {type_} needs `priority`.")
    elif priority is not None:
        raise FieldInvalid(param="priority", reason=f"A record of the type {type_} has no `priority`.")
    return Record(type_, name, _normalize_value(type_, value.strip()), ttl, priority)


def _normalize_value(type_: str, value: str) -> str:
    match type_:
        case "A" | "AAAA":
            return _address(type_, value)
        case "CNAME":
            return _host(value, _LABEL)
        case "NS":
            return _host(value)
        case "MX":
            return "." if value == "." else _host(value)
        case "SRV":
            found = _SRV.fullmatch(value)
            if found is None or max(int(found[1]), int(found[2])) > 65_535:
                raise _bad_value("weight, port and target, such as 5 5060 sip.example.com")
            return f"{int(found[1])} {int(found[2])} {'.' if found[3] == '.' else _host(found[3])}"
        case "CAA":
            found = _CAA.fullmatch(value)
            if found is None:
                raise _bad_value('flags, a tag and a value, such as 0 issue "letsencrypt.org"')
            return f'{found[1]} {found[2]} "{found[3]}"'
        case _:
            if not value or len(value.encode()) > MAX_TEXT or not value.isprintable():
                raise _bad_value(f"text of 1 to {MAX_TEXT} bytes on one line")
            return value


def _address(type_: str, value: str) -> str:
    kind = ipaddress.IPv4Address if type_ == "A" else ipaddress.IPv6Address
    try:
        return str(kind(value))
    except ValueError:
        example = "192.0.2.7" if type_ == "A" else "2001:db8::7"
        raise _bad_value(f"an address, such as {example}") from None


def _host(value: str, label: re.Pattern[str] = _HOST_LABEL) -> str:
    labels = [_to_ascii(each) for each in value.rstrip(".").lower().split(".")]
    host = ".".join(labels)
    is_host = all(label.fullmatch(each) for each in labels) and len(host) <= 253 and len(labels) > 1
    if not is_host or labels[-1].isdigit():
        raise _bad_value("a host name, such as mail.example.com")
    return host


def _bad_value(wanted: str) -> FieldInvalid:
    return FieldInvalid(param="value", reason=f"The value must be {wanted}.")


def content_of(record: Record) -> str:
    """As a name server stores it."""
    match record.type:
        case "TXT":
            return _quote_text(record.value)
        case "MX":
            return f"{record.priority} {_absolute(record.value)}"
        case "SRV":
            weight, port, target = record.value.split()
            return f"{record.priority} {weight} {port} {_absolute(target)}"
        case "CNAME" | "NS":
            return _absolute(record.value)
        case _:
            return record.value


def _absolute(host: str) -> str:
    return f"{host.rstrip('.')}."


def _quote_text(text: str) -> str:
    """Pieces of at most 255 bytes. Everything but plain ASCII is written as a number."""
    data = text.encode()
    pieces = [data[start : start + _PIECE] for start in range(0, len(data), _PIECE)]
    return " ".join(f'"{"".join(map(_letter, piece))}"' for piece in pieces)


def _letter(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03d}"
