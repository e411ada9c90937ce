"""What a git server says of its refs over smart HTTP (protocol 0), read strictly."""

import re
from collections.abc import Iterator

from stead.control.git.push_rules import is_commit
from stead.shared.branches import is_plain_branch_name

MOST_BYTES = 16 * 1024 * 1024
MOST_BRANCHES = 10_000
SERVICE = "git-upload-pack"

_LONGEST = 65_520
_SERVICE_LINE = f"# service={SERVICE}".encode()
_HEADS = b"refs/heads/"
_LENGTH = re.compile(rb"[0-9a-f]{4}", re.IGNORECASE)
_REF = re.compile(rb"(?P<commit>[0-9a-f]{40}|[0-9a-f]{64}) (?P<name>[^\x00-\x20\x7f]+)")


class NotAnAdvertisement(ValueError):
    """The message says why, in words that may be shown."""


def branches(said: bytes) -> dict[str, str]:
    """Where each branch stands. A branch whose name we do not take is left out."""
    packets = _packets(said)
    if not said[4:].startswith(_SERVICE_LINE):
        raise NotAnAdvertisement("It does not speak git's smart HTTP protocol.")
    if next(packets, None) != _SERVICE_LINE or next(packets, b"") is not None:
        raise NotAnAdvertisement("It does not speak git's smart HTTP protocol.")
    found: dict[str, str] = {}
    hashes: set[int] = set()
    first = True
    for packet in packets:
        if packet is None:
            break
        line, separator, _ = packet.partition(b"\0")
        if bool(separator) != first:
            raise NotAnAdvertisement("Its list of refs is malformed.")
        first = False
        if line.startswith(b"shallow ") and not separator:
            continue
        ref = _REF.fullmatch(line)
        if ref is None:
            raise NotAnAdvertisement("Its list of refs is malformed.")
        hashes.add(len(ref["commit"]))
        _note(found, ref["name"], ref["commit"].decode())
    else:
        raise NotAnAdvertisement("Its list of refs has no end.")
    if next(packets, b"") != b"":
        raise NotAnAdvertisement("Something follows its list of refs.")
    if len(hashes) > 1:
        raise NotAnAdvertisement("Its refs are of two kinds.")
    return found


def _note(found: dict[str, str], name: bytes, commit: str) -> None:
    if not name.startswith(_HEADS):
        return
    branch = name.removeprefix(_HEADS).decode("utf-8", "replace")
    if not is_plain_branch_name(branch) or not is_commit(commit):
        return
    if branch in found:
        raise NotAnAdvertisement("It names a branch twice.")
    found[branch] = commit
    if len(found) > MOST_BRANCHES:
        raise NotAnAdvertisement(f"It has more than {MOST_BRANCHES} branches.")


def _packets(said: bytes) -> Iterator[bytes | None]:
    """Lines without their end; None for a flush."""
    at = 0
    while at < len(said):
        head = said[at : at + 4]
        if not _LENGTH.fullmatch(head):
            raise NotAnAdvertisement("It does not speak git's smart HTTP protocol.")
        length = int(head, 16)
        if length == 0:
            yield None
            at += 4
            continue
        if length <= 4 or length > _LONGEST or at + length > len(said):
            raise NotAnAdvertisement("Its answer is cut off or malformed.")
        yield said[at + 4 : at + length].removesuffix(b"\n")
        at += length
