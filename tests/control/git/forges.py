"""Deliveries in the formats of GitHub, GitLab and Gitea: headers, payloads, signatures."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

ZEROS = "0" * 40
BEFORE = "1" * 40


@dataclass(frozen=True)
class DeliveryRequest:
    headers: dict[str, str]
    body: bytes


def signature(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _people() -> dict[str, Any]:
    return {"name": "ada", "email": "ada@example.com", "username": "ada"}


def _change(commit: str) -> dict[str, Any]:
    return {
        "id": commit,
        "message": "A change.",
        "timestamp": "2026-11-15T07:00:00Z",
        "author": _people(),
        "committer": _people(),
        "added": ["index.html"],
        "removed": [],
        "modified": [],
    }


PUSHED_AT = 4_102_444_800
"""The year 2100: no push is old unless a test says so, even if the test moves its clock."""


def github_push(ref: str, after: str, url: str) -> dict[str, Any]:
    base = url.removesuffix(".git")
    deleted = after == ZEROS
    return {
        "ref": ref,
        "before": BEFORE,
        "after": after,
        "created": False,
        "deleted": deleted,
        "forced": False,
        "base_ref": None,
        "compare": f"{base}/compare/111111111111...{after[:12]}",
        "commits": [] if deleted else [_change(after)],
        "head_commit": None if deleted else _change(after),
        "repository": {
            "id": 35129377,
            "name": "site",
            "full_name": "octo/site",
            "private": True,
            "owner": {"login": "octo", "id": 1, **_people()},
            "html_url": base,
            "url": base,
            "git_url": f"git://{base.partition('://')[2]}.git",
            "ssh_url": f"git@{base.partition('://')[2].replace('/', ':', 1)}.git",
            "clone_url": url,
            "pushed_at": PUSHED_AT,
            "default_branch": "main",
        },
        "pusher": _people(),
        "sender": {"login": "octo", "id": 1, "type": "User"},
    }


def gitlab_push(ref: str, after: str, url: str) -> dict[str, Any]:
    base = url.removesuffix(".git")
    deleted = after == ZEROS
    addresses = {
        "git_ssh_url": f"git@{base.partition('://')[2].replace('/', ':', 1)}.git",
        "git_http_url": url,
        "visibility_level": 0,
    }
    return {
        "object_kind": "push",
        "event_name": "push",
        "before": BEFORE,
        "after": after,
        "ref": ref,
        "ref_protected": True,
        "checkout_sha": None if deleted else after,
        "user_id": 4,
        "user_name": "Ada",
        "project_id": 15,
        "project": {"id": 15, "name": "site", "web_url": base, "homepage": base, "url": url, **addresses},
        "repository": {"name": "site", "url": url, "homepage": base, "description": "", **addresses},
        "commits": [] if deleted else [_change(after)],
        "total_commits_count": 0 if deleted else 1,
    }


def github(
    payload: dict[str, Any], secret: str, *, event: str = "push", form: bool = False, delivery: str = ""
) -> DeliveryRequest:
    body = json.dumps(payload).encode()
    if form:
        body = urlencode({"payload": body.decode()}).encode()
    kind = "application/x-www-form-urlencoded" if form else "application/json"
    headers = {
        "content-type": kind,
        "user-agent": "GitHub-Hookshot/044aadd",
        "x-github-delivery": delivery or str(uuid4()),
        "x-github-event": event,
        "x-github-hook-id": "292430182",
        "x-hub-signature": "sha1=" + hmac.new(secret.encode(), body, hashlib.sha1).hexdigest(),
        "x-hub-signature-256": f"sha256={signature(secret, body)}",
    }
    return DeliveryRequest(headers, body)


def gitlab(
    payload: dict[str, Any], secret: str, *, event: str = "Push Hook", uuid: str = ""
) -> DeliveryRequest:
    headers = {
        "content-type": "application/json",
        "user-agent": "GitLab/17.1.0",
        "idempotency-key": (key := uuid or str(uuid4())),
        "x-gitlab-event": event,
        "x-gitlab-event-uuid": key,
        "x-gitlab-webhook-uuid": str(uuid4()),
        "x-gitlab-instance": "https://gitlab.example.com",
        "x-gitlab-token": secret,
    }
    return DeliveryRequest(headers, json.dumps(payload).encode())


def gitea(payload: dict[str, Any], secret: str, *, event: str = "push") -> DeliveryRequest:
    body, delivery = json.dumps(payload, indent=2).encode(), str(uuid4())
    code = signature(secret, body)
    headers = {
        "content-type": "application/json",
        **{f"x-{name}-delivery": delivery for name in ("gitea", "gogs", "github")},
        **{f"x-{name}-event": event for name in ("gitea", "gogs", "github")},
        "x-gitea-event-type": event,
        "x-gitea-signature": code,
        "x-gogs-signature": code,
        "x-hub-signature": "sha1=" + hmac.new(secret.encode(), body, hashlib.sha1).hexdigest(),
        "x-hub-signature-256": f"sha256={code}",
    }
    return DeliveryRequest(headers, body)
