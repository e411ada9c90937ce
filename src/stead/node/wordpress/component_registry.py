"""Looks up plugins and themes in a registry that speaks the protocol of api.wordpress.org; downloads them.

Only the operator chooses which hosts are contacted. Archives are not read here: WordPress unpacks them in the
container of the site.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlencode, urlsplit

import msgspec
import requests
from msgspec import Meta, Struct

from stead.node.drivers.driver import Refusal
from stead.node.uninterrupted import run_in_pool

MISSING, FAILED = "component.not_in_registry", "component.registry_failed"
MAX_ARCHIVE_BYTES = 128 << 20
_MAX_DESCRIPTION = 8 << 20
_SECONDS = (10.0, 60.0)
_CHUNK = 1 << 20
_THREADS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="registry")
_ZIP = b"PK\x03\x04"
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


class Description(Struct, frozen=True):
    version: Annotated[str, Meta(max_length=100)]
    download_link: Annotated[str, Meta(max_length=2000)]
    versions: dict[str, str] | list[str] = []
    """The archives of all versions. PHP writes an empty object as a list."""


@dataclass(frozen=True)
class Registry:
    url: str
    hosts: frozenset[str]
    """That archives may come from, besides that of the registry."""
    trust: str

    async def download(self, kind: Literal["plugin", "theme"], slug: str, version: str, path: Path) -> str:
        """Write the archive to the path, and return its version. Raises Refusal."""
        return await run_in_pool(_THREADS, self._download, kind, slug, version, path)

    def _download(self, kind: Literal["plugin", "theme"], slug: str, version: str, path: Path) -> str:
        try:
            found = self._describe(kind, slug)
            link = self._choose(found, slug, version)
            self._fetch(link, path)
        except requests.RequestException as error:
            raise Refusal(FAILED, f"the registry cannot be reached: {type(error).__name__}") from None
        return version or found.version

    def _describe(self, kind: Literal["plugin", "theme"], slug: str) -> Description:
        query = urlencode({"action": f"{kind}_information", "slug": slug, "fields[versions]": "1"})
        address = f"{self.url}/{kind}s/info/1.2/?{query}"
        with self._get(address) as response:
            if response.status_code == requests.codes.not_found:
                raise Refusal(MISSING, f"the registry has no {kind} {slug}")
            if response.status_code != requests.codes.ok:
                raise Refusal(FAILED, f"the registry answered {response.status_code}")
            content = b"".join(_read(response, _MAX_DESCRIPTION))
        try:
            return msgspec.json.decode(content, type=Description)
        except (msgspec.MsgspecError, RecursionError):
            raise Refusal(FAILED, "the registry answered something else") from None

    def _choose(self, found: Description, slug: str, version: str) -> str:
        link = found.download_link
        if version and version != found.version:
            known = found.versions if isinstance(found.versions, dict) else {}
            if version not in known:
                raise Refusal(MISSING, f"the registry has no version {version} of {slug}")
            link = known[version]
        parts = urlsplit(link)
        if parts.scheme != "https" or parts.netloc not in {*self.hosts, urlsplit(self.url).netloc}:
            raise Refusal(FAILED, "the registry names an archive on another host")
        return link

    def _fetch(self, link: str, path: Path) -> None:
        with self._get(link) as response, path.open("wb") as file:
            if response.status_code != requests.codes.ok:
                raise Refusal(FAILED, f"the archive cannot be downloaded: {response.status_code}")
            for chunk in _read(response, MAX_ARCHIVE_BYTES):
                file.write(chunk)
        with path.open("rb") as file:
            if file.read(len(_ZIP)) != _ZIP:
                raise Refusal(FAILED, "the archive is no zip file")

    def _get(self, address: str) -> requests.Response:
        return requests.get(address, stream=True, timeout=_SECONDS, verify=self.trust, allow_redirects=False)


PUBLIC_REGISTRY = Registry(
    "https://api.wordpress.org", frozenset({"downloads.wordpress.org"}), "/etc/ssl/certs/ca-certificates.crt"
)


def is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def _read(response: requests.Response, limit: int) -> Iterator[bytes]:
    size = 0
    for chunk in response.iter_content(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise Refusal(FAILED, f"the registry sends more than {limit} bytes")
        yield chunk
