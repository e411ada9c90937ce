# Generated from the API description by `make generate`.
"""Content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stead_sdk import types
from stead_sdk._async.client import in_path, returned
from stead_sdk._async.jobs import AsyncJobHandle
from stead_sdk._async.pages import AsyncPager
from stead_sdk._async.resource import AsyncResource, result_of
from stead_sdk._omit import OMIT, Omit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stead_sdk import params


class AsyncContent(AsyncResource):
    def list(
        self,
        site_id: str,
        *,
        type: types.ContentType | Omit | None = OMIT,
        status: types.ContentFilterStatus | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncPager[types.Content]:
        """List the posts, pages and media of a site, newest first.

        Content that is added while you read pages neither moves nor hides anything.

        Scopes: `cms.content:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/content"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"type": type, "status": status, "limit": limit},
            types.Content,
        )

    async def create(
        self,
        site_id: str,
        *,
        type: types.ContentType | Omit = OMIT,
        source: str | Omit = OMIT,
        filename: str | Omit = OMIT,
        title: str | Omit = OMIT,
        content: str | Omit = OMIT,
        excerpt: str | Omit = OMIT,
        slug: str | Omit = OMIT,
        status: types.ContentStatus | Omit = OMIT,
        date: str | Omit = OMIT,
        author: str | Omit = OMIT,
        parent: str | Omit = OMIT,
        featured_media: str | Omit = OMIT,
        terms: Sequence[params.NewTerms] | Omit = OMIT,
        meta: Sequence[params.NewMeta] | Omit = OMIT,
    ) -> types.ContentDetail:
        """Write a post or a page, or add a file that was uploaded.

        WordPress and its plugins treat it as if an administrator had written it, with one difference:
        scripts and other unsafe HTML are removed. Without `author`, the first administrator is the author.

        Scopes: `cms.content:write`.
        """
        return returned(
            types.ContentDetail,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/content",
                body={
                    "type": type,
                    "source": source,
                    "filename": filename,
                    "title": title,
                    "content": content,
                    "excerpt": excerpt,
                    "slug": slug,
                    "status": status,
                    "date": date,
                    "author": author,
                    "parent": parent,
                    "featured_media": featured_media,
                    "terms": terms,
                    "meta": meta,
                },
                idempotent="key",
            ),
        )

    def list_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        type: types.ContentType | Omit | None = OMIT,
        status: types.ContentFilterStatus | Omit | None = OMIT,
        limit: int | Omit = OMIT,
    ) -> AsyncPager[types.Content]:
        """List the posts, pages and media of a site, newest first.

        Content that is added while you read pages neither moves nor hides anything.

        Scopes: `cms.content:read`.
        """
        path = f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/content"
        return AsyncPager(
            lambda query: self._client._call("GET", path, query=query),
            {"type": type, "status": status, "limit": limit},
            types.Content,
        )

    async def create_in_environment(
        self,
        site_id: str,
        env_id: str,
        *,
        type: types.ContentType | Omit = OMIT,
        source: str | Omit = OMIT,
        filename: str | Omit = OMIT,
        title: str | Omit = OMIT,
        content: str | Omit = OMIT,
        excerpt: str | Omit = OMIT,
        slug: str | Omit = OMIT,
        status: types.ContentStatus | Omit = OMIT,
        date: str | Omit = OMIT,
        author: str | Omit = OMIT,
        parent: str | Omit = OMIT,
        featured_media: str | Omit = OMIT,
        terms: Sequence[params.NewTerms] | Omit = OMIT,
        meta: Sequence[params.NewMeta] | Omit = OMIT,
    ) -> types.ContentDetail:
        """Write a post or a page, or add a file that was uploaded.

        WordPress and its plugins treat it as if an administrator had written it, with one difference:
        scripts and other unsafe HTML are removed. Without `author`, the first administrator is the author.

        Scopes: `cms.content:write`.
        """
        return returned(
            types.ContentDetail,
            await self._client._call(
                "POST",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/content",
                body={
                    "type": type,
                    "source": source,
                    "filename": filename,
                    "title": title,
                    "content": content,
                    "excerpt": excerpt,
                    "slug": slug,
                    "status": status,
                    "date": date,
                    "author": author,
                    "parent": parent,
                    "featured_media": featured_media,
                    "terms": terms,
                    "meta": meta,
                },
                idempotent="key",
            ),
        )

    async def get(self, site_id: str, content_id: str) -> types.ContentDetail:
        """Read a post, a page or a file.

        Scopes: `cms.content:read`.
        """
        return returned(
            types.ContentDetail,
            await self._client._call("GET", f"/v1/sites/{in_path(site_id)}/content/{in_path(content_id)}"),
        )

    async def update(
        self,
        site_id: str,
        content_id: str,
        *,
        title: str | Omit = OMIT,
        content: str | Omit = OMIT,
        excerpt: str | Omit = OMIT,
        slug: str | Omit = OMIT,
        status: types.ContentStatus | Omit = OMIT,
        date: str | Omit = OMIT,
        author: str | Omit = OMIT,
        parent: str | Omit = OMIT,
        featured_media: str | Omit = OMIT,
        terms: Sequence[params.NewTerms] | Omit = OMIT,
        meta: Sequence[params.NewMeta] | Omit = OMIT,
    ) -> types.ContentDetail:
        """Change a post, a page or the description of a file. WordPress keeps a revision of what it was.

        Scopes: `cms.content:write`.
        """
        return returned(
            types.ContentDetail,
            await self._client._call(
                "PATCH",
                f"/v1/sites/{in_path(site_id)}/content/{in_path(content_id)}",
                body={
                    "title": title,
                    "content": content,
                    "excerpt": excerpt,
                    "slug": slug,
                    "status": status,
                    "date": date,
                    "author": author,
                    "parent": parent,
                    "featured_media": featured_media,
                    "terms": terms,
                    "meta": meta,
                },
                idempotent="none",
            ),
        )

    async def delete(self, site_id: str, content_id: str) -> None:
        """Move a post or a page to the trash. What is in the trash already, and any file, is deleted for good.

        Scopes: `cms.content:write`.
        """
        await self._client._call("DELETE", f"/v1/sites/{in_path(site_id)}/content/{in_path(content_id)}")

    async def get_in_environment(self, site_id: str, env_id: str, content_id: str) -> types.ContentDetail:
        """Read a post, a page or a file.

        Scopes: `cms.content:read`.
        """
        return returned(
            types.ContentDetail,
            await self._client._call(
                "GET",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/content/{in_path(content_id)}",
            ),
        )

    async def update_in_environment(
        self,
        site_id: str,
        env_id: str,
        content_id: str,
        *,
        title: str | Omit = OMIT,
        content: str | Omit = OMIT,
        excerpt: str | Omit = OMIT,
        slug: str | Omit = OMIT,
        status: types.ContentStatus | Omit = OMIT,
        date: str | Omit = OMIT,
        author: str | Omit = OMIT,
        parent: str | Omit = OMIT,
        featured_media: str | Omit = OMIT,
        terms: Sequence[params.NewTerms] | Omit = OMIT,
        meta: Sequence[params.NewMeta] | Omit = OMIT,
    ) -> types.ContentDetail:
        """Change a post, a page or the description of a file. WordPress keeps a revision of what it was.

        Scopes: `cms.content:write`.
        """
        return returned(
            types.ContentDetail,
            await self._client._call(
                "PATCH",
                f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/content/{in_path(content_id)}",
                body={
                    "title": title,
                    "content": content,
                    "excerpt": excerpt,
                    "slug": slug,
                    "status": status,
                    "date": date,
                    "author": author,
                    "parent": parent,
                    "featured_media": featured_media,
                    "terms": terms,
                    "meta": meta,
                },
                idempotent="none",
            ),
        )

    async def delete_in_environment(self, site_id: str, env_id: str, content_id: str) -> None:
        """Move a post or a page to the trash. What is in the trash already, and any file, is deleted for good.

        Scopes: `cms.content:write`.
        """
        await self._client._call(
            "DELETE",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/content/{in_path(content_id)}",
        )

    async def batch(
        self, site_id: str, *, operations: Sequence[params.ContentOperation]
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Write, change and delete up to 100 posts and pages, one after the other.

        The output of the job reports each of them. The job fails if nothing could be changed.

        Scopes: `cms.content:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/content:batch",
            body={"operations": operations},
            idempotent="key",
        )
        return self._handle(response, result_of)

    async def batch_in_environment(
        self, site_id: str, env_id: str, *, operations: Sequence[params.ContentOperation]
    ) -> AsyncJobHandle[dict[str, Any]]:
        """Write, change and delete up to 100 posts and pages, one after the other.

        The output of the job reports each of them. The job fails if nothing could be changed.

        Scopes: `cms.content:write`.
        """
        response = await self._client._call(
            "POST",
            f"/v1/sites/{in_path(site_id)}/environments/{in_path(env_id)}/content:batch",
            body={"operations": operations},
            idempotent="key",
        )
        return self._handle(response, result_of)
