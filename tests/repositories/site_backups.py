"""A site with a repository, and restic as a node runs it: through the gateway, with a token."""

import asyncio
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from stead.control.engines.object_store import StoreLocation
from stead.control.engines.restic import ResticRepository
from stead.dev.stack import Stack
from stead.shared.ids import new_id
from stead.shared.repository_tokens import Access, RepositoryToken, keys_from_text, repository_url, sign

TIMEOUT = 120.0


@dataclass(frozen=True)
class Completed:
    code: int
    output: str
    errors: str


@dataclass(frozen=True)
class Gateway:
    url: str
    key: bytes
    store: StoreLocation

    @classmethod
    def of(cls, stack: Stack) -> "Gateway":
        settings = stack.environment()
        return cls(
            url=settings["STEAD_REPOSITORIES_URL"],
            key=keys_from_text(settings["STEAD_REPOSITORY_KEY"])[0],
            store=StoreLocation(
                settings["STEAD_S3_ENDPOINT"],
                settings["STEAD_S3_ACCESS_KEY"],
                settings["STEAD_S3_SECRET_KEY"],
                "stead",
            ),
        )

    def token(
        self,
        site: str,
        access: Access = "append",
        *,
        added: int = 1 << 30,
        seconds: int = 600,
        node: str = "",
        as_of: int = 0,
        job: str | None = None,
    ) -> str:
        now = int(time.time())
        token = RepositoryToken(site, job or new_id("job"), access, added, now, now + seconds, node, as_of)
        return repository_url(self.url, sign(self.key, token))

    async def new_site(self) -> "BackedUpSite":
        site = BackedUpSite(self, new_id("site"), secrets.token_hex(16))
        await site.repository.create()
        return site


@dataclass(frozen=True)
class BackedUpSite:
    gateway: Gateway
    id: str
    password: str

    @property
    def repository(self) -> ResticRepository:
        return ResticRepository(self.gateway.store, self.id, self.password)

    async def restic(self, *words: str, url: str | None = None, seconds: float = TIMEOUT) -> Completed:
        """restic as a node runs it, through the gateway."""
        return await run_restic(url or self.gateway.token(self.id), self.password, *words, seconds=seconds)

    async def back_up(self, folder: Path, *words: str, url: str | None = None) -> None:
        completed = await run_restic(
            url or self.gateway.token(self.id),
            self.password,
            *("backup", "--host", "stead", *words, "."),
            directory=folder,
        )
        assert completed.code == 0, completed.errors

    async def restore(self, target: Path, snapshot: str = "latest", *, as_of: int = 0) -> None:
        url = self.gateway.token(self.id, "read", as_of=as_of)
        completed = await self.restic("restore", "--no-lock", snapshot, "--target", str(target), url=url)
        assert completed.code == 0, completed.errors


async def run_restic(
    url: str, password: str, *words: str, directory: Path = Path("/"), seconds: float = TIMEOUT
) -> Completed:
    process = await asyncio.create_subprocess_exec(
        *("restic", "--no-cache", "-r", f"rest:{url}", *words),
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "RESTIC_PASSWORD": password},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        output, errors = await process.communicate()
    code = process.returncode
    assert code is not None
    return Completed(code, output.decode(), errors.decode())
