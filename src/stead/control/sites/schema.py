"""The JSON shapes of sites."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

SiteIdText = Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]


class SiteView(Struct):
    id: SiteIdText
    slug: Annotated[str, Meta(description="Made by the platform; URL-safe.", examples=["example-com-x7k2"])]
    domain: Annotated[str, Meta(examples=["example.com"])]
    profile: Literal["git_managed", "vanilla", "static", "wasm"]
    runtime: Literal["cms", "static", "wasm"]
    php_version: Annotated[str | None, Meta(examples=["8.3"])]
    region: Annotated[str, Meta(examples=["us-east"])]
    git_repo: Annotated[str | None, Meta(examples=["https://git.example.com/site.git"])]
    git_branch: Annotated[str | None, Meta(examples=["main"])]
    team_id: Annotated[str | None, Meta(examples=["team_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    project_id: Annotated[str | None, Meta(examples=[None])]
    status: Literal["provisioning", "running", "stopped", "deleting", "deleted", "failed", "awaiting_push"]
    status_reason: Annotated[str | None, Meta(examples=[None])]
    recoverable_until: Annotated[datetime | None, Meta(examples=[None])]
    created_at: datetime
