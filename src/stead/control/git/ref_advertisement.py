"""A strict parser for the ref advertisement of git servers (smart HTTP, protocol version 0)."""

import re
from collections.abc import Iterator

from stead.control.git.rules import MAX_BRANCHES, is_commit
from stead.shared.branches import is_plain_branch_name

MAX_BYTES = 16 * 1024 * 1024
SERVICE = "git-upload-pack"

_MAX_PACKET = 65_520
_SERVICE_LINE = f"# service={SERVICE}".encode()
_HEADS = b"refs/heads/"
_LENGTH = re.compile(rb"[0-9a-f]{4}", re.IGNORECASE)
_REF = re.compile(rb"(?P<commit>[0-9a-f]{40}|[0-9a-f]{64}) (?P<name>[^\x00-\x20\x7f]+)")
_NOT_SMART_HTTP = "The server does not speak git's smart HTTP protocol."
_MALFORMED = "The server's list of refs is malformed."


class InvalidAdvertisement(ValueError):
    """The message says why and may be shown to customers."""


def parse_branches(advertisement: bytes) -> dict[str, str]:
    """The head of each branch. Branches whose names the platform does not accept are left out."""
    packets = _split_packets(advertisement)
    if not advertisement[4:].startswith(_SERVICE_LINE):
        raise InvalidAdvertisement(_NOT_SMART_HTTP)
    if next(packets, None) != _SERVICE_LINE or next(packets, b"") is not None:
        raise InvalidAdvertisement(_NOT_SMART_HTTP)
    branches: dict[str, str] = {}
    hash_lengths: set[int] = set()
    is_first = True
    for packet in packets:
        if packet is None:
            break
        line, separator, _ = packet.partition(b"\0")
        if bool(separator) != is_first:
            raise InvalidAdvertisement(_MALFORMED)
        is_first = False
        if line.startswith(b"shallow ") and not separator:
            continue
        ref = _REF.fullmatch(line)
        if ref is None:
            raise InvalidAdvertisement(_MALFORMED)
        hash_lengths.add(len(ref["commit"]))
        _add_branch(branches, ref["name"], ref["commit"].decode())
    else:
        raise InvalidAdvertisement("The server's list of refs has no end.")
    if next(packets, b"") != b"":
        raise InvalidAdvertisement("The server sent data after its list of refs.")
    if len(hash_lengths) > 1:
        raise InvalidAdvertisement("The server's list of refs mixes SHA-1 and SHA-256.")
    return branches


def _add_branch(branches: dict[str, str], name: bytes, commit: str) -> None:
    if not name.startswith(_HEADS):
        return
    branch = name.removeprefix(_HEADS).decode("utf-8", "replace")
    if not is_plain_branch_name(branch) or not is_commit(commit):
        return
    if branch in branches:
        raise InvalidAdvertisement("The server lists a branch twice.")
    branches[branch] = commit
    if len(branches) > MAX_BRANCHES:
        raise InvalidAdvertisement(f"The repository has more than {MAX_BRANCHES} branches.")


def _split_packets(advertisement: bytes) -> Iterator[bytes | None]:
    """Yield each packet without its line end, and None for a flush packet."""
    position = 0
    while position < len(advertisement):
        head = advertisement[position : position + 4]
        if not _LENGTH.fullmatch(head):
            raise InvalidAdvertisement(_NOT_SMART_HTTP)
        length = int(head, 16)
        if length == 0:
            yield None
            position += 4
            continue
        if length <= 4 or length > _MAX_PACKET or position + length > len(advertisement):
            raise InvalidAdvertisement("The server's response is cut off or malformed.")
        yield advertisement[position + 4 : position + length].removesuffix(b"\n")
        position += length
