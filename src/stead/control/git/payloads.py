"""What GitHub, GitLab and Gitea post: who signed it, and the one fact in it that we believe."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from stead.control.git.push_rules import Push, is_commit
from stead.control.sites.repositories import same
from stead.shared.branches import is_plain_branch_name
from stead.shared.errors import RequestMalformed

Header = Callable[[bytes], str]
"""A header's value, empty when it was not sent."""
Signed = Literal["hmac", "token"]

_SIGNATURES = (b"x-hub-signature-256", b"x-gitea-signature", b"x-gitlab-token")
_HEADS = "refs/heads/"
_ADDRESSES = ("clone_url", "ssh_url", "html_url", "git_http_url", "git_ssh_url", "web_url")


class _Repository(Struct):
    clone_url: str | None = None
    ssh_url: str | None = None
    html_url: str | None = None
    git_http_url: str | None = None
    git_ssh_url: str | None = None
    web_url: str | None = None

    @property
    def addresses(self) -> list[str]:
        return [url for name in _ADDRESSES if (url := getattr(self, name))]


class _Payload(Struct):
    ref: str = ""
    ref_type: str = ""
    after: str = ""
    repository: _Repository | None = None
    project: _Repository | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """`push` is None for what is no push to a branch. `said` are the addresses of its repository."""

    push: Push | None = None
    said: tuple[str, ...] = ()

    def is_of(self, git_repo: str | None) -> bool:
        """Whether it may be of this repository: who says nothing does not contradict."""
        return git_repo is None or not self.said or any(same(git_repo, url) for url in self.said)


_decoder = msgspec.json.Decoder(_Payload)


def signed(secret: bytes, header: Header, body: bytes) -> Signed | None:
    """How the holder of the secret vouches for this; None when nobody does.

    All that was sent must hold, and all is compared whether or not it was sent.
    """
    code = hmac.digest(secret, body, "sha256").hex().encode()
    expected = (b"sha256=" + code, code, secret)
    given = [header(name).encode("latin-1", "replace") for name in _SIGNATURES]
    holds = [hmac.compare_digest(*pair) for pair in zip(given, expected, strict=True)]
    sent = [bool(value) for value in given]
    if not any(sent) or holds != sent:
        return None
    return "hmac" if sent[0] or sent[1] else "token"


def identity(how: Signed, header: Header, body: bytes) -> bytes:
    """What a repeated delivery is known by.

    A signature covers the body and not the headers: whoever replays one can give it another delivery id. With
    a token nothing is covered, and two pushes may look alike, so the id counts too.
    """
    marked = hashlib.sha256(body)
    if how == "token":
        uuid = header(b"idempotency-key") or header(b"x-gitlab-event-uuid")
        marked.update(b"\0" + uuid.encode("latin-1", "replace"))
    return marked.digest()


def read(header: Header, body: bytes) -> Delivery:
    event = _event(header)
    if event not in ("push", "delete"):
        return Delivery()
    payload = _payload(header, body)
    branch = _branch(event, payload)
    if branch is None:
        return Delivery()
    said = [url for each in (payload.repository, payload.project) if each for url in each.addresses]
    commit = _commit(payload.after) if event == "push" else None
    return Delivery(Push(branch, commit, "hook"), tuple(said))


def _commit(after: str) -> str | None:
    """None where a row of zeros says that there is none any more."""
    if after and not after.strip("0"):
        return None
    if not is_commit(after):
        raise RequestMalformed(reason="`after` is not a commit")
    return after


def _event(header: Header) -> str:
    """GitLab speaks of a `Push Hook`; Gitea says the same in its own words and in GitHub's."""
    gitlab = header(b"x-gitlab-event")
    if gitlab:
        return "push" if gitlab == "Push Hook" else gitlab[:40]
    return (header(b"x-gitea-event") or header(b"x-github-event"))[:40]


def _payload(header: Header, body: bytes) -> _Payload:
    kind = header(b"content-type").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        body = _form(body)
    elif kind != "application/json":
        raise RequestMalformed(reason="it is neither JSON nor a form; choose `application/json` in the forge")
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise RequestMalformed(reason="it is not a push as a forge describes it") from None


def _form(body: bytes) -> bytes:
    try:
        (payload,) = parse_qs(body.decode("ascii"), strict_parsing=True, max_num_fields=4)["payload"]
    except (ValueError, KeyError):
        raise RequestMalformed(reason="its form has no `payload`") from None
    return payload.encode("utf-8", "surrogatepass")


def _branch(event: str, payload: _Payload) -> str | None:
    """A branch whose name we take; None for tags and for the rest."""
    if event == "delete":
        name = payload.ref.removeprefix(_HEADS) if payload.ref_type == "branch" else ""
    else:
        name = payload.ref.removeprefix(_HEADS) if payload.ref.startswith(_HEADS) else ""
    return name if is_plain_branch_name(name) else None
