"""A forge that reports pushes, signed like those of GitHub."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

import httpx

from stead.shared.ids import new_id


@dataclass(frozen=True)
class Forge:
    hook: str
    secret: str
    clone_url: str

    async def tell(self, branch: str, commit: str, *, before: str = "0" * 40) -> list[dict[str, Any]]:
        """Report a push, and return what the API decided about it."""
        body = json.dumps(
            {
                "ref": f"refs/heads/{branch}",
                "before": before,
                "after": commit,
                "deleted": not commit.strip("0"),
                "repository": {"clone_url": self.clone_url},
            }
        ).encode()
        signature = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": new_id("delivery"),
            "X-Hub-Signature-256": f"sha256={signature}",
            "Content-Type": "application/json",
        }
        async with httpx.AsyncClient(timeout=60.0) as client:
            answer = await client.post(self.hook, content=body, headers=headers)
        assert answer.is_success, answer.text
        decisions: list[dict[str, Any]] = answer.json()["data"]["decisions"]
        return decisions
