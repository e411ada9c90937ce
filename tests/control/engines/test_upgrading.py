"""A database that customers have used is migrated, and everything is where it was."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from stead.control.engines.migrations import migrate
from tests.teams import spare_database

ROWS = [
    "insert into accounts (id, email, name, password_hash, created_at)"
    " values ('acct_1', 'one@example.com', 'One', 'x', now())",
    "insert into teams (id, name, plan, created_at) values ('team_1', 'Team', 'pro', now())",
    "insert into team_members (id, team_id, account_id, role, created_at)"
    " values ('mem_1', 'team_1', 'acct_1', 'owner', now())",
    "insert into nodes (id, region, capacity, version, builders, last_seen_at, created_at)"
    " values ('node-1', 'us-east', 100, '1', '{static}', now(), now())",
    *(
        f"insert into sites (id, account_id, mode, slug, domain, profile, runtime, region, status,"
        f" recoverable_until, created_at) values ('site_{n}', 'acct_1', '{mode}', 'slug-{n}', '{domain}',"
        f" 'static', 'static', 'us-east', '{status}', {until}, now())"
        for n, mode, domain, status, until in (
            (1, "live", "one.example.com", "running", "null"),
            (2, "live", "old.example.com", "deleted", "now()"),
            (3, "live", "old.example.com", "running", "null"),
            (4, "test", "test.example.com", "running", "null"),
        )
    ),
    *(
        f"insert into environments (id, site_id, type, subdomain, status, node_id, created_at)"
        f" values ('env_{n}', 'site_{n}', 'production', 'slug-{n}.preview.example',"
        f" '{'deleted' if n == 2 else 'running'}', 'node-1', now())"
        for n in range(1, 5)
    ),
    "insert into certificates (host, site_id, region, next_attempt_at, created_at)"
    " values ('one.example.com', 'site_1', 'us-east', now(), now())",
]


@pytest.fixture
async def database(worker_id: str) -> AsyncIterator[str]:
    async with spare_database(f"stead_upgrading_{worker_id}", template="template1") as url:
        yield url


async def test_a_database_of_the_last_version_is_migrated_with_its_rows(database: str):
    await asyncio.to_thread(migrate, database, "0009")
    connection: Any = await asyncpg.connect(database)
    try:
        for statement in ROWS:
            await connection.execute(statement)
        await asyncio.to_thread(migrate, database)
        await asyncio.to_thread(migrate, database)  # can be repeated

        names = await connection.fetch("select site_id, hostname, status, is_primary from domains order by 1")
        assert [tuple(row) for row in names] == [
            ("site_1", "one.example.com", "verified", True),
            ("site_3", "old.example.com", "verified", True),
            ("site_4", "test.example.com", "verified", True),
        ]
        assert await connection.fetchval("select email_verified_at is not null from accounts")
        assert await connection.fetchval("select founded_by from teams") == "acct_1"
        assert await connection.fetchval("select max_teams from plans where name = 'free'") == 3
        node = await connection.fetchrow("select region, public_key from nodes")
        assert tuple(node) == ("us-east", None)
        assert await connection.fetchval("select count(*) from environments") == 4
        hosts = await connection.fetch("select host, site_id from certificates order by host")
        assert [tuple(row) for row in hosts] == [
            ("one.example.com", "site_1"),
            ("slug-1.preview.example", "site_1"),
            ("slug-3.preview.example", "site_3"),
        ]
    finally:
        await connection.close()


async def test_environments_that_got_other_data_know_their_schema(database: str):
    """Jobs know which dataset each made: it is named after them."""
    await asyncio.to_thread(migrate, database, "0028")
    connection: Any = await asyncpg.connect(database)
    rows = [
        "insert into accounts (id, email, name, password_hash, created_at)"
        " values ('acct_1', 'one@example.com', 'One', 'x', now())",
        "insert into sites (id, account_id, mode, slug, domain, profile, runtime, region, status, created_at)"
        " values ('site_1', 'acct_1', 'live', 'slug', 'one.example.com', 'vanilla', 'cms', 'us-east',"
        " 'running', now())",
        *(
            f"insert into environments (id, site_id, type, branch, subdomain, status, created_at) values"
            f" ('env_{type_}', 'site_1', '{type_}', null, '{type_}.preview.example', 'running', now())"
            for type_ in ("production", "staging")
        ),
        *(
            "insert into jobs (id, type, status, site_id, owner, scope, resource, params, created_at) values"
            f" ('job_000000000000{number:014d}', '{type_}', '{status}', 'site_1', 'acct_1', 's', '{{}}',"
            f" '{params}', now())"
            for number, (type_, status, params) in enumerate(
                (
                    ("environment.clone", "succeeded", '{"environment": "env_staging"}'),
                    ("environment.refresh", "succeeded", '{"environment": "env_staging"}'),
                    ("environment.refresh", "failed", '{"environment": "env_staging"}'),
                    ("environment.push", "succeeded", '{"environment": "env_staging", "push": "db"}'),
                    ("environment.push", "succeeded", '{"environment": "env_staging", "push": "files"}'),
                    ("site.config_apply", "queued", '{"version": "8.4", "dry_run": true}'),
                    ("site.config_apply", "queued", '{"version": "8.4", "dry_run": false}'),
                )
            )
        ),
        "insert into access_passwords (env_id, site_id, id, account_id, sha256, granted_by, created_at)"
        " values ('env_staging', 'site_1', 'pass_1', 'acct_1', 'x', '{}', now())",
    ]
    try:
        for statement in rows:
            await connection.execute(statement)
        await asyncio.to_thread(migrate, database)
        found = await connection.fetch("select id, dataset from environments order by id")
        assert [tuple(row) for row in found] == [
            ("env_production", f"{3:014d}"),
            ("env_staging", f"{1:014d}"),
        ]
        assert await connection.fetchval("select kind from access_passwords") == "sftp"
        cancelled = await connection.fetch("select params from jobs where cancel_requested_at is not null")
        assert ['"dry_run": true' in row["params"] for row in cancelled] == [True]
    finally:
        await connection.close()
