"""Deliveries of GitHub, GitLab and Gitea: verifies their signatures and reads the push from the payload."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import parse_qs

import msgspec
from msgspec import Meta, Struct

from stead.control.git.rules import Push, is_commit
from stead.control.sites.repositories import is_same_repository
from stead.shared.branches import is_plain_branch_name
from stead.shared.errors import RequestMalformed

GetHeader = Callable[[bytes], str]
"""Returns the value of a header, empty if it was not sent."""
Verification = Literal["hmac", "token"]

_SIGNATURE_HEADERS = (b"x-hub-signature-256", b"x-gitea-signature", b"x-gitlab-token")
_HEADS = "refs/heads/"
MAX_COMMITS = 100
"""How many commits of a push are read."""
_URL_FIELDS = ("clone_url", "ssh_url", "html_url", "git_http_url", "git_ssh_url", "web_url")


class _Repository(Struct):
    clone_url: str | None = None
    ssh_url: str | None = None
    html_url: str | None = None
    git_http_url: str | None = None
    git_ssh_url: str | None = None
    web_url: str | None = None
    pushed_at: object = None

    @property
    def urls(self) -> list[str]:
        return [url for name in _URL_FIELDS if (url := getattr(self, name))]


class _Commit(Struct):
    id: str = ""


class _Payload(Struct):
    ref: str = ""
    ref_type: str = ""
    before: str | None = None
    after: str = ""
    commits: list[_Commit] | None = None
    repository: _Repository | None = None
    project: _Repository | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """`push` is None if it is not a push to a branch. `repository_urls` are those that the payload names."""

    push: Push | None = None
    repository_urls: tuple[str, ...] = ()
    before: str | None = None
    """The head of the branch before the push; None if the payload does not name it."""
    creates_branch: bool = False
    commits: tuple[str, ...] = ()
    """The commits that were pushed, as far as the payload lists them."""
    pushed_at: datetime | None = None
    """When it was pushed; None if the payload does not say."""

    def follows(self, head: str | None) -> bool:
        """Whether it continues from this head of the branch; None for a branch that does not exist."""
        if head is None:
            return self.creates_branch or self.before is None
        return self.before == head

    def is_for(self, git_repo: str | None) -> bool:
        """Whether it can be for this repository. A payload that names no repository is accepted."""
        urls = self.repository_urls
        return git_repo is None or not urls or any(is_same_repository(git_repo, url) for url in urls)


_decoder = msgspec.json.Decoder(_Payload)


def verify_signature(secret: bytes, header: GetHeader, body: bytes) -> Verification | None:
    """How the delivery proves knowledge of the secret; None if it does not.

    Every signature that was sent must be right. All are compared, sent or not, to take the same time.
    """
    code = hmac.digest(secret, body, "sha256").hex().encode()
    expected = (b"sha256=" + code, code, secret)
    given = [header(name).encode("latin-1", "replace") for name in _SIGNATURE_HEADERS]
    matches = [hmac.compare_digest(*pair) for pair in zip(given, expected, strict=True)]
    sent = [bool(value) for value in given]
    if not any(sent) or matches != sent:
        return None
    return "hmac" if sent[0] or sent[1] else "token"


def compute_digest(verification: Verification, header: GetHeader, body: bytes) -> bytes:
    """A digest by which a repeated delivery is recognized.

    A signature covers the body but not the headers, so an attacker who replays a delivery could change its
    id; only the body counts. A token covers nothing, and two pushes may look alike, so the id counts too.
    """
    digest = hashlib.sha256(body)
    if verification == "token":
        uuid = header(b"idempotency-key") or header(b"x-gitlab-event-uuid")
        digest.update(b"\0" + uuid.encode("latin-1", "replace"))
    return digest.digest()


def parse_delivery(header: GetHeader, body: bytes) -> Delivery:
    event = _get_event(header)
    if event not in ("push", "delete"):
        return Delivery()
    payload = _parse_payload(header, body)
    branch = _get_branch(event, payload)
    if branch is None:
        return Delivery()
    named = [each for each in (payload.repository, payload.project) if each]
    commit = _parse_commit(payload.after) if event == "push" else None
    before = payload.before or ""
    return Delivery(
        Push(branch, commit, "hook"),
        tuple(url for each in named for url in each.urls),
        before=before if is_commit(before) else None,
        creates_branch=bool(before) and not before.strip("0"),
        commits=tuple(each.id for each in (payload.commits or [])[:MAX_COMMITS] if is_commit(each.id)),
        pushed_at=_parse_time(payload.repository.pushed_at if payload.repository else None),
    )


def _parse_time(sent: object) -> datetime | None:
    """Seconds since 1970, as GitHub sends in a push, or ISO 8601, as it sends in other events."""
    try:
        if isinstance(sent, int):
            return datetime.fromtimestamp(sent, UTC)
        parsed: datetime = msgspec.convert(sent, Annotated[datetime, Meta(tz=True)])
    except (ValueError, OverflowError, OSError):  # a `ValidationError` is a `ValueError`
        return None
    return parsed


def _parse_commit(after: str) -> str | None:
    """None if it is all zeros, which means that the branch was deleted."""
    if after and not after.strip("0"):
        return None
    if not is_commit(after):
        raise RequestMalformed(reason="`after` is not a commit id")
    return after


def _get_event(header: GetHeader) -> str:
    """GitLab calls a push `Push Hook`; Gitea sends both its own header and GitHub's."""
    gitlab = header(b"x-gitlab-event")
    if gitlab:
        return "push" if gitlab == "Push Hook" else gitlab[:40]
    return (header(b"x-gitea-event") or header(b"x-github-event"))[:40]


def _parse_payload(header: GetHeader, body: bytes) -> _Payload:
    kind = header(b"content-type").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        body = _extract_form_payload(body)
    elif kind != "application/json":
        raise RequestMalformed(reason="it is neither JSON nor a form; choose `application/json` in the forge")
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise RequestMalformed(reason="it is not a push payload of a supported forge") from None


def _extract_form_payload(body: bytes) -> bytes:
    try:
        (payload,) = parse_qs(body.decode("ascii"), strict_parsing=True, max_num_fields=4)["payload"]
    except (ValueError, KeyError):
        raise RequestMalformed(reason="the form has no field `payload`") from None
    return payload.encode("utf-8", "surrogatepass")


def _get_branch(event: str, payload: _Payload) -> str | None:
    """None for tags, and for branches whose names the platform does not accept."""
    if event == "delete":
        name = payload.ref.removeprefix(_HEADS) if payload.ref_type == "branch" else ""
    else:
        name = payload.ref.removeprefix(_HEADS) if payload.ref.startswith(_HEADS) else ""
    return name if is_plain_branch_name(name) else None
