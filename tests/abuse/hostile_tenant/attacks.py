"""What a free account can do to everything that it shares with other tenants. The attacks repeat as
fast as the API allows, and the responses are counted."""

import asyncio
import gzip
import json
import tarfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count, cycle

import httpx

from tests.abuse.hostile_tenant.neighbour import DOMAIN as NEIGHBOUR_DOMAIN
from tests.abuse.hostile_tenant.person import Person
from tests.git_server import Repository, git
from tests.patience import time_limit

DOMAIN = "hostile.example.com"
BRANCHES = 10_000
STREAMS = 300
RULES = 1400
"""As many redirects of this length as a site may have."""
BOMB_BYTES = 3_000_000_000
OVERSIZED_BYTES = 2_000_000_000
_CHUNK = bytes(1024 * 1024)
_PACKAGE = {"name": "noise", "version": "1.0.0", "private": True, "scripts": {"build": "node noise.js"}}
_NOISE = 'const line = "x".repeat(8000); for (;;) console.log(line);'
_numbers = count(1)

Attack = Callable[[], Awaitable[str]]
RATE_LIMITED = "429 rate_limit.exceeded"


class HostileTenant:
    def __init__(self, person: Person, repository: Repository, victim_email: str) -> None:
        self.person, self._repository, self._victim_email = person, repository, victim_email
        self.outcomes: dict[str, Counter[str]] = {}
        """For each attack, how often it got which status and error code."""
        self._archive = b""

    async def move_in(self) -> None:
        self._repository.commit("main", **{"package.json": json.dumps(_PACKAGE), "noise.js": _NOISE})
        response = await self.person.api.post("/v1/sites", json=self._site())
        assert response.status_code == 202, response.text
        self.person.path = f"/v1/sites/{response.json()['data']['resource']['site_id']}"

    @property
    def description(self) -> dict[str, object]:
        """What the program of the hostile tenant needs to know."""
        return {
            "url": str(self.person.api.base_url),
            "headers": {"authorization": self.person.api.headers["authorization"]},
            "email": self.person.email,
            "path": self.person.path,
            "bare": str(self._repository.bare),
            "work": str(self._repository.work),
            "repository": self._repository.url,
            "victim": self._victim_email,
        }

    def _site(self) -> dict[str, str]:
        return {
            "domain": DOMAIN,
            "profile": "static",
            "git_repo": self._repository.url,
            "git_branch": "main",
        }

    async def attack(self) -> None:
        """All attacks at once, until cancelled."""
        unlimited: list[tuple[str, Attack, float]] = [
            ("replace redirects", self._redirect, 0.5),
            ("ten thousand branches", self._move_branches, 3.0),
            ("event streams", self._streams, 1.0),
            ("guess the neighbour's password", self._guess, 0.1),
        ]
        async with asyncio.TaskGroup() as group:
            for name, act, pause in unlimited:
                group.create_task(self._repeat(name, act, pause))
            group.create_task(self._create_in_turn())

    async def _repeat(self, name: str, act: Attack, pause: float) -> None:
        while True:
            await self._count(name, act)
            await asyncio.sleep(pause)

    async def _create_in_turn(self) -> None:
        """A free account may create little per minute, so every kind of resource gets its turn."""
        attacks: list[tuple[str, Attack]] = [
            ("build that floods its output", self._build),
            ("purge a long URL", self._purge),
            ("compression bomb", self._bomb),
            ("oversized upload", self._oversized_upload),
            ("webhook endpoint", self._endpoint),
            ("team", self._team),
            ("API key", self._key),
            ("project", self._project),
            ("invite to a stranger", self._invite),
            ("claim a name of the neighbour", self._claim_name),
        ]
        for name, act in cycle(attacks):
            while await self._count(name, act) == RATE_LIMITED:  # noqa: ASYNC110 - the limit passes with time
                await asyncio.sleep(1)

    async def _count(self, name: str, act: Attack) -> str:
        try:
            outcome = await act()
        except httpx.HTTPError as error:
            outcome = type(error).__name__
        self.outcomes.setdefault(name, Counter())[outcome] += 1
        return outcome

    async def _send(self, method: str, path: str, body: object = None) -> str:
        return outcome_of(await self.person.api.request(method, path, json=body))

    async def _purge(self) -> str:
        url = f"/{next(_numbers)}/".ljust(2000, "x")
        return await self._send("POST", f"{self.person.production}/cache/purge", {"type": "url", "url": url})

    async def _redirect(self) -> str:
        start = next(_numbers) * RULES
        rules = [
            {"from": f"/{start + n}".ljust(180, "f"), "to": f"/{start + n}".ljust(180, "t"), "code": 301}
            for n in range(RULES)
        ]
        return await self._send("PUT", f"{self.person.path}/redirects", {"redirects": rules})

    async def _build(self, source: str | None = None) -> str:
        body = {"builder": "static", "auto_deploy": True} | ({"source": source} if source else {})
        return await self._send("POST", f"{self.person.production}/builds", body)

    async def _bomb(self) -> str:
        """An archive of a few megabytes that unpacks to gigabytes."""
        self._archive = self._archive or await asyncio.to_thread(_bomb)
        uploaded, upload_id = await self._upload(len(self._archive), self._archive)
        return await self._build(upload_id) if upload_id else uploaded

    async def _oversized_upload(self) -> str:
        """More bytes than were declared."""

        async def body() -> AsyncIterator[bytes]:
            for _ in range(OVERSIZED_BYTES // len(_CHUNK)):
                yield _CHUNK

        return (await self._upload(1000, body()))[0]

    async def _upload(self, declared: int, content: bytes | AsyncIterator[bytes]) -> tuple[str, str | None]:
        """The outcome, and the id of the upload if the object store accepted it."""
        response = await self.person.api.post(f"{self.person.path}/uploads", json={"size_bytes": declared})
        if response.status_code != 201:
            return outcome_of(response), None
        upload = response.json()["data"]
        if not isinstance(content, bytes):  # the client would refuse to send more than it declares
            del upload["headers"]["Content-Length"]
        async with httpx.AsyncClient(timeout=60) as client:
            stored = await client.put(upload["url"], content=content, headers=upload["headers"])
        return f"PUT {stored.status_code}", upload["id"] if stored.is_success else None

    async def _move_branches(self) -> str:
        """Every branch points to another commit at every poll."""
        await asyncio.to_thread(self._rewrite_branches, next(_numbers))
        return "moved"

    def _rewrite_branches(self, number: int) -> None:
        commit = git("rev-parse", "main", cwd=self._repository.bare)
        tree = git("rev-parse", "main^{tree}", cwd=self._repository.bare)
        other = git("commit-tree", tree, "-p", commit, "-m", str(number), cwd=self._repository.bare)
        refs = "".join(f"{other} refs/heads/branch-{n:05}\n" for n in range(BRANCHES))
        path = self._repository.bare / "packed-refs"
        new = path.with_suffix(".new")
        new.write_text(f"# pack-refs with: peeled fully-peeled sorted \n{refs}")
        new.rename(path)

    async def _streams(self) -> str:
        jobs = (await self.person.api.get("/v1/jobs")).json()
        if not jobs.get("data"):
            return outcome_of(httpx.Response(404, json={}))
        path = f"/v1/jobs/{jobs['data'][0]['id']}/stream"
        async with asyncio.TaskGroup() as group:
            results = [group.create_task(self._stream(path)) for _ in range(STREAMS)]
        return ", ".join(f"{n} × {outcome}" for outcome, n in Counter(r.result() for r in results).items())

    async def _stream(self, path: str) -> str:
        """Hold a stream open for a while."""
        try:
            async with self.person.api.stream("GET", path) as response:
                if response.is_success:
                    async with time_limit(20):
                        async for _ in response.aiter_bytes():
                            pass
                return str(response.status_code)
        except TimeoutError:
            return "200"
        except httpx.HTTPError as error:
            return type(error).__name__

    async def _endpoint(self) -> str:
        url = f"https://hook-{next(_numbers)}.hostile.invalid/"
        return await self._send("POST", "/v1/webhook-endpoints", {"url": url})

    async def _team(self) -> str:
        return await self._send("POST", "/v1/teams", {"name": f"Team {next(_numbers)}"})

    async def _key(self) -> str:
        return await self._send("POST", "/v1/api-keys", {"scopes": ["*"]})

    async def _project(self) -> str:
        return await self._send("POST", "/v1/projects", {"name": f"Project {next(_numbers)}"})

    async def _invite(self) -> str:
        teams = (await self.person.api.get("/v1/teams")).json().get("data") or []
        if not teams:
            return "no team"
        path = f"/v1/teams/{teams[0]['team_id']}/invites"
        return await self._send("POST", path, {"role": "observer", "email": f"s{next(_numbers)}@example.com"})

    async def _guess(self) -> str:
        body = {"email": self._victim_email, "password": f"wrong password {next(_numbers)}"}
        return await self._send("POST", "/v1/sessions", body)

    async def _claim_name(self) -> str:
        return await self._send("POST", "/v1/sites", self._site() | {"domain": f"blog.{NEIGHBOUR_DOMAIN}"})


def outcome_of(response: httpx.Response) -> str:
    if response.status_code < 400:
        return str(response.status_code)
    try:
        return f"{response.status_code} {response.json()['error']['code']}"
    except (ValueError, KeyError):
        return str(response.status_code)


def _bomb() -> bytes:
    """A tar archive of one large file of zeros. The parts of a gzip file may be compressed one by one."""
    header = tarfile.TarInfo("index.html")
    header.size = BOMB_BYTES
    return gzip.compress(header.tobuf()) + gzip.compress(_CHUNK) * (BOMB_BYTES // len(_CHUNK) + 1)
