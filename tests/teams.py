"""Teams and their resources, inserted directly into the database: fast, and independent of what is tested."""

import asyncio
import secrets as random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import TypedDict

import asyncpg
from argon2 import PasswordHasher

from stead.artifacts import digests
from stead.artifacts.manifest import ArtifactOrigin, make_manifest
from stead.artifacts.packer import PackedLayer
from stead.control.engines.postgres import Tx
from stead.control.http.principal import Mode, Pin
from stead.shared import secrets
from stead.shared.ids import TeamId, new_id
from stead.shared.roles import Role
from tests.client import Client
from tests.engines import TEMPLATE, engine_addresses
from tests.people import EVERY_SCOPE, PASSWORD, Person

DAY = timedelta(days=1)
NOT_ON_THE_WAY = (
    "type not in ('job.queued', 'job.started', 'site.status_changed', 'build.started', 'deploy.started',"
    " 'env.status_changed', 'malware.detected')"
)
"""A condition for the events that report a result, without those of the progress of a job."""


@cache
def cheap_hash() -> str:
    """A hash of the password of all test accounts, with the lowest cost."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)


class OwnedBy(TypedDict, total=False):
    """The owner of a resource, as arguments of the functions that insert one. Either of them."""

    account: str
    team: str


@dataclass(frozen=True)
class Account:
    id: str
    email: str


async def insert_account(tx: Tx, *, plan: str = "unlimited") -> Account:
    id_ = new_id("client")
    account = Account(id_, f"{id_}@example.com")
    await tx.run(
        "insert into accounts (id, email, name, password_hash, plan, created_at, email_verified_at)"
        " values ($1, $2, 'A Person', $3, $4, $5, $5)",
        *(account.id, account.email, cheap_hash(), plan, tx.now),
    )
    return account


async def insert_session(tx: Tx, account: str) -> str:
    _, secret = await insert_session_row(tx, account)
    return secret


async def insert_session_row(tx: Tx, account: str) -> tuple[str, str]:
    """The id and the secret of a session."""
    secret, id_ = secrets.mint("stead_session"), new_id("sess")
    await tx.run(
        "insert into sessions (id, account_id, secret_hash, created_at, last_used_at)"
        " values ($1, $2, $3, $4, $4)",
        *(id_, account, secret.hash, tx.now),
    )
    return id_, secret.text


async def insert_key(
    tx: Tx, account: str, scopes: Sequence[str] = EVERY_SCOPE, *, mode: Mode = "live", pin: Pin | None = None
) -> tuple[str, str]:
    """The id and the secret of a key."""
    secret, id_ = secrets.mint("stead_test" if mode == "test" else "stead_live"), new_id("key")
    await tx.run(
        "insert into api_keys (id, account_id, mode, last4, scopes, pin_type, pin_id, ip_allowlist,"
        " expires_at, created_at) values ($1, $2, $3, $4, $5, $6, $7, '{}', $8, $9)",
        *(id_, account, mode, secret.last4, list(scopes), pin.type if pin else None, pin.id if pin else None),
        *(tx.now + 365 * DAY, tx.now),
    )
    await tx.run("insert into api_key_secrets (hash, key_id) values ($1, $2)", secret.hash, id_)
    return id_, secret.text


async def insert_team(tx: Tx, owner: str, *, plan: str = "unlimited", name: str = "A Team") -> TeamId:
    id_ = TeamId(new_id("team"))
    await tx.run(
        "insert into teams (id, name, plan, created_at) values ($1, $2, $3, $4)", id_, name, plan, tx.now
    )
    await insert_member(tx, id_, owner, Role.OWNER)
    return id_


async def insert_member(
    tx: Tx, team: str, account: str, role: Role, *, expires_at: datetime | None = None
) -> None:
    await tx.run(
        "insert into team_members (id, team_id, account_id, role, expires_at, created_at)"
        " values ($1, $2, $3, $4, $5, $6)",
        *(new_id("mem"), team, account, role.value, expires_at, tx.now),
    )


async def insert_project(tx: Tx, *, account: str | None = None, team: str | None = None) -> str:
    id_ = new_id("proj")
    await tx.run(
        "insert into projects (id, account_id, team_id, name, created_at) values ($1, $2, $3, $4, $5)",
        *(id_, account, team, "A Project", tx.now),
    )
    return id_


async def insert_site(
    tx: Tx,
    *,
    account: str | None = None,
    team: str | None = None,
    project: str | None = None,
    mode: Mode = "live",
    status: str = "running",
    env: str | None = None,
) -> str:
    """`env` is the id of its production environment, if the caller has to know it."""
    id_ = new_id("site")
    slug = id_.replace("_", "-")
    await tx.run(
        "insert into sites (id, account_id, team_id, project_id, mode, slug, domain, profile, runtime,"
        " region, status, recoverable_until, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, 'static', 'static', 'us-east', $8, $9, $10)",
        *(id_, account, team, project, mode, slug, f"{slug}.example.com", status),
        *(tx.now + 30 * DAY if status == "deleted" else None, tx.now),
    )
    env = env or new_id("env")
    await tx.run(
        "insert into environments (id, site_id, type, subdomain, status, created_at)"
        " values ($1, $2, 'production', $3, 'running', $4)",
        *(env, id_, f"{slug}.preview.example", tx.now),
    )
    await insert_domain(tx, env, f"{slug}.example.com", primary=True)
    return id_


async def insert_domain(
    tx: Tx, env: str, hostname: str | None = None, *, status: str = "verified", primary: bool = False
) -> str:
    id_ = new_id("dom")
    verified_at = tx.now if status == "verified" else None
    await tx.run(
        "insert into domains (id, hostname, site_id, env_id, mode, is_primary, status, reason, challenge,"
        " verified_at, pending_since, created_at)"
        " select $1, $2, s.id, e.id, s.mode, $4, $5, 'not looked up', $1, $6, $7, $7"
        " from environments e join sites s on s.id = e.site_id where e.id = $3",
        *(id_, hostname or f"{id_.replace('_', '-')}.example.com", env, primary, status, verified_at, tx.now),
    )
    return id_


async def environment_of(tx: Tx, site: str) -> str:
    """Its production."""
    return str(await tx.value("select id from environments where site_id = $1 and type = 'production'", site))


async def insert_environment(
    tx: Tx, site: str, branch: str | None = None, *, status: str = "running", node: str | None = None
) -> str:
    """Staging, or the environment of a branch."""
    id_ = new_id("env")
    await tx.run(
        "insert into environments (id, site_id, type, branch, subdomain, status, node_id, awake_since,"
        " created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
        *(id_, site, "branch" if branch else "staging", branch, f"{id_.replace('_', '-')}.preview.example"),
        *(status, node, tx.now),
    )
    return id_


async def insert_upload(tx: Tx, site: str) -> str:
    id_ = new_id("upl")
    await tx.run(
        "insert into uploads (id, site_id, created_at, expires_at) values ($1, $2, $3, $4)",
        *(id_, site, tx.now, tx.now + DAY),
    )
    return id_


async def insert_build(
    tx: Tx, site: str, env: str, *, status: str = "failed", function: str | None = None
) -> str:
    id_ = new_id("build")
    await tx.run(
        "insert into builds (id, site_id, env_id, builder, status, source, ref, artifact_id, created_at,"
        " finished_at, function_id) values ($1, $2, $3, $4, $5, 'git', 'main', $6, $7, $8, $9)",
        *(id_, site, env, "wasm" if function else "static", status),
        *("art_x" if status == "succeeded" else None, tx.now),
        *(tx.now if status in ("succeeded", "failed") else None, function),
    )
    return id_


async def insert_secret(tx: Tx, env: str, name: str) -> None:
    """A secret whose value cannot be opened."""
    await tx.run(
        "insert into environment_secrets (id, env_id, name, sealed, size, plain, previews, updated_at)"
        " values ($1, $2, $3, $4, $5, false, false, $6)",
        *(f"{env}/{name}", env, name, b"sealed", len(name), tx.now),
    )


async def insert_artifact(
    tx: Tx,
    site: str,
    *,
    content: bytes | None = None,
    built_at: datetime | None = None,
    size: int = 100,
    build: str | None = None,
    serve_model: str = "static",
) -> str:
    """A row of one, with a layer of its own unless told what is in it."""
    id_ = new_id("art")
    made = make_manifest(
        PackedLayer(digests.of(content or id_.encode()), size, digests.of(b"tar"), 1, 1, 0, 1),
        ArtifactOrigin(revision=id_),
    )
    layer = str(digests.of(content or id_.encode()))
    await tx.run(
        "insert into artifacts (id, site_id, digest, serve_model, manifest, config, envelope, key_id,"
        " layer_digest, layer_size, ref, commit, created_at, built_at, build_id)"
        " values ($1, $2, $3, $4, $5, $6, '{}', 'sha256:none', $7, $8, 'main', $9, $10, $10, $11)",
        *(id_, site, made.manifest.digest, serve_model, made.manifest.content, made.config.content),
        *(layer, size, "9fceb02d0ae598e95dc970b74767f19372d61af8", built_at or tx.now, build),
    )
    sizes = {layer: size, made.config.digest: len(made.config.content)}
    sizes[made.manifest.digest] = len(made.manifest.content)
    for digest, bytes_ in sizes.items():
        await tx.run(
            "insert into blobs (digest, size, held_until) values ($1, $2, $3) on conflict do nothing",
            *(digest, bytes_, tx.now),
        )
        await tx.run("insert into artifact_blobs values ($1, $2)", id_, digest)
    return id_


async def insert_deployment(
    tx: Tx, site: str, env: str, artifact: str, *, status: str = "live", kind: str = "deploy"
) -> str:
    id_ = new_id("dep")
    await tx.run(
        "insert into deployments (id, site_id, env_id, artifact_id, digest, ref, kind, status, created_at,"
        " deployed_at, current_since)"
        " select $1, $2, $3, id, digest, ref, $5, $6, $7, $8, $9 from artifacts where id = $4",
        *(id_, site, env, artifact, kind, status, tx.now),
        *(tx.now if status in ("live", "superseded") else None, tx.now if status == "live" else None),
    )
    return id_


async def insert_function(tx: Tx, site: str, slug: str | None = None) -> str:
    """It has a source, and was never built."""
    id_ = new_id("fn")
    limits = {"memory_mb": 64, "wall_ms": 1000, "request_bytes": 1 << 20, "requests_per_second": 100}
    await tx.run(
        "insert into functions (id, site_id, slug, display_name, language, bindings, env, secret_refs,"
        " limits, compatibility_date, source, filename, created_at, updated_at)"
        " values ($1, $2, $3, 'A Function', 'javascript', '[]', '{}', '{}', $4, '2026-11-17', $5,"
        " 'function.js', $6, $6)",
        *(id_, site, slug or id_.replace("_", "-"), limits, "export default {}", tx.now),
    )
    return id_


async def insert_function_artifact(tx: Tx, function: str, *, site: str = "", env: str = "") -> str:
    """What a build of the function has made. Its site and environment are looked up if they are not told."""
    site = site or str(await tx.value("select site_id from functions where id = $1", function))
    env = env or await environment_of(tx, site)
    build = await insert_build(tx, site, env, status="succeeded", function=function)
    return await insert_artifact(tx, site, build=build, serve_model="wasm")


async def insert_function_version(tx: Tx, function: str, artifact: str) -> str:
    id_ = new_id("fnv")
    await tx.run(
        "insert into function_versions (id, function_id, artifact_id, digest, created_at)"
        " select $1, $2, id, digest, $4 from artifacts where id = $3",
        *(id_, function, artifact, tx.now),
    )
    return id_


async def insert_snapshot(
    tx: Tx,
    site: str,
    env: str,
    *,
    kind: str = "on_demand",
    status: str = "kept",
    taken_at: datetime | None = None,
) -> str:
    id_ = new_id("snap")
    document: dict[str, object] = {
        "site_id": site,
        "domain": "example.com",
        "env_id": env,
        "host": "example.com",
        "runtime": "static",
        "php_version": None,
        "release": None,
        "redirects": [],
        "secret_names": [],
        "configuration": {},
        "override": {},
    }
    await tx.run(
        "insert into snapshots (id, site_id, env_id, job_id, kind, status, runtime, document, full_check,"
        " restic_id, manifest_digest, size_bytes, taken_at)"
        " values ($1, $2, $3, $4, $5, $6, 'static', $7, true, $8, 'sha256:none', 1000, $9)",
        *(id_, site, env, new_id("job"), kind, status, document),
        *(sha256(id_.encode()).hexdigest(), taken_at or tx.now),
    )
    return id_


async def insert_job(
    tx: Tx, site: str, owner: str, *, status: str = "queued", nodes: Sequence[str] = ()
) -> str:
    id_ = new_id("job")
    await tx.run(
        "insert into jobs (id, type, status, site_id, owner, scope, resource, params, created_at, nodes)"
        " values ($1, 'site.restart', $2, $3, $4, 'sites:write', $5, $6, $7, $8)",
        *(id_, status, site, owner, {"type": "site", "id": site, "site_id": site}),
        *({"kind": "site.restart", "with": {}}, tx.now, list(nodes)),
    )
    return id_


async def insert_invite(
    tx: Tx, team: str, by: str, *, role: Role = Role.OBSERVER, email: str | None = None
) -> tuple[str, str]:
    """The id and the token of an invite."""
    id_, token = new_id("inv"), random.token_urlsafe(32)
    await tx.run(
        "insert into team_invites (id, team_id, role, email, token_hash, invited_by, expires_at, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8)",
        *(id_, team, role.value, email, sha256(token.encode()).digest(), by, tx.now + 7 * DAY, tx.now),
    )
    return id_, token


async def insert_event(
    tx: Tx,
    type_: str = "site.restarted",
    *,
    account: str | None = None,
    team: str | None = None,
    site: str | None = None,
    **data: object,
) -> str:
    """An event as it is before the sequencer has seen it."""
    id_ = new_id("evt")
    await tx.run(
        "insert into events (id, type, account_id, team_id, site_id, data, created_at, mode)"
        " values ($1, $2, $3, $4, $5, $6, $7, (select mode from sites where id = $5))",
        *(id_, type_, account, team, site, data, tx.now),
    )
    return id_


async def insert_endpoint(
    tx: Tx,
    account: str,
    *,
    url: str = "https://hooks.example.com/",
    secret: bytes = b"sealed elsewhere",
    event_types: Sequence[str] = ("*",),
    mode: Mode = "live",
    pin: Pin | None = None,
) -> str:
    id_ = new_id("whe")
    await tx.run(
        "insert into webhook_endpoints (id, account_id, mode, pin_type, pin_id, url, event_types, secret,"
        " created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        *(id_, account, mode, pin.type if pin else None, pin.id if pin else None),
        *(url, list(event_types), secret, tx.now),
    )
    return id_


async def insert_delivery(tx: Tx, endpoint: str, event: str, *, status: str = "failed") -> str:
    id_, now = new_id("whd"), tx.now
    await tx.run(
        "insert into webhook_deliveries (id, endpoint_id, event_id, status, created_at, delivered_at,"
        " next_attempt_at) values ($1, $2, $3, $4, $5, $6, $7)",
        *(id_, endpoint, event, status, now),
        *(now if status == "delivered" else None, now if status == "pending" else None),
    )
    return id_


async def found_team(person: Person, name: str = "A Team") -> str:
    made = await person.session.post("/v1/teams", json={"name": name})
    assert made.status_code == 201, made.text
    return str(made.json()["data"]["team_id"])


async def add_member(
    appointer: Client, team: str, account: str, role: str, expires_at: datetime | None = None
) -> None:
    body = {
        "client_id": account,
        "role": role,
        "expires_at": expires_at.isoformat() if expires_at else None,
    }
    added = await appointer.post(f"/v1/teams/{team}/members", json=body)
    assert added.status_code == 204, added.text


async def _drop(admin: "asyncpg.Connection[asyncpg.Record]", name: str) -> None:
    """Waits for an autovacuum worker in the database: only a superuser may end one."""
    for _ in range(100):
        try:
            await admin.execute(f'drop database if exists "{name}" with (force)')
        except (asyncpg.InsufficientPrivilegeError, asyncpg.ObjectInUseError):
            await asyncio.sleep(0.1)
        else:
            return
    raise AssertionError(f"{name} is still in use")


@asynccontextmanager
async def spare_database(name: str, template: str = TEMPLATE) -> AsyncIterator[str]:
    """The address of a database that no other test uses and no periodic task changes; migrated by default."""
    engines = engine_addresses()
    admin = await asyncpg.connect(engines.database("postgres"))
    try:
        await _drop(admin, name)
        await admin.execute(f'create database "{name}" template "{template}"')
        yield engines.database(name)
        await _drop(admin, name)
    finally:
        await admin.close()


def owner_of(person: Person, made: Mapping[str, str]) -> OwnedBy:
    """The owner of what a request creates: the team in its path, or the person."""
    return {"team": made["team_id"]} if "team_id" in made else {"account": person.id}
