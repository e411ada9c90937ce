"""Other people's rows, so many that a query which reads them all is noticed.

Identifiers end in a number in hexadecimal: its digits are part of the alphabet of identifiers, in the same
order. The first six characters are those of a time in the future, so that everything here is newer than what
a test creates. A query that walks through a whole table, newest first, meets all of it before anything else.
"""

import asyncpg

SITES_PER_OWNERS = 10
"""An account and a team for each so many sites. Each of the two has half of them."""


def _id(prefix: str, number: str = "n") -> str:
    return f"'{prefix}_zzzzzz' || lpad(to_hex({number}), 20, '0')"


_ACCOUNT, _TEAM = _id("client", "n / 10 * 10"), _id("team", "n / 10 * 10")
_IS_PERSONAL = "n % 2 = 0"

_STATEMENTS = (
    f"""
    insert into accounts (id, email, name, password_hash, created_at)
    select {_id("client")}, n || '@others.example', 'Somebody', '', now() from owners
    """,
    f"""
    insert into teams (id, name, plan, created_at) select {_id("team")}, 'A Team', 'free', now() from owners
    """,
    f"""
    insert into team_members (id, team_id, account_id, role, created_at)
    select {_id("mem")}, {_id("team")}, {_id("client")}, 'owner', now() from owners
    """,
    f"""
    insert into team_invites (id, team_id, role, token_hash, invited_by, expires_at, created_at)
    select {_id("inv")}, {_id("team")}, 'observer', n::text::bytea, {_id("client")}, now() + interval '1 day',
      now() from owners
    """,
    f"""
    insert into projects (id, account_id, team_id, name, created_at)
    select {_id("proj")}, case when {_IS_PERSONAL} then {_ACCOUNT} end,
      case when not {_IS_PERSONAL} then {_TEAM} end, 'A Project', now() from numbers
    """,
    f"""
    insert into sites (id, account_id, team_id, project_id, mode, slug, domain, profile, runtime, region,
      status, created_at)
    select {_id("site")}, case when {_IS_PERSONAL} then {_ACCOUNT} end,
      case when not {_IS_PERSONAL} then {_TEAM} end, {_id("proj")}, 'live', 'other-' || n,
      n || '.others.example', 'static', 'static', 'us-east', 'running', now() from numbers
    """,
    f"""
    insert into environments (id, site_id, type, subdomain, status, created_at)
    select {_id("env")}, {_id("site")}, 'production', n || '.others.preview', 'running', now() from numbers
    """,
    f"""
    insert into captured_mails (id, env_id, node_key, captured_at, content)
    select {_id("mail")}, {_id("env")}, n::text, now(), '' from numbers
    """,
    f"""
    insert into domains (id, hostname, site_id, env_id, mode, is_primary, status, challenge, verified_at,
      pending_since, created_at)
    select {_id("dom")}, n || '.others.example', {_id("site")}, {_id("env")}, 'live', true, 'verified', '',
      now(), now(), now() from numbers
    """,
    f"""
    insert into artifacts (id, site_id, digest, serve_model, manifest, config, envelope, key_id, layer_digest,
      layer_size, created_at, built_at)
    select {_id("art")}, {_id("site")}, n::text, 'static', '', '', '', '', '', 0, now(), now() from numbers
    """,
    f"""
    insert into builds (id, site_id, env_id, builder, source, created_at)
    select {_id("build")}, {_id("site")}, {_id("env")}, 'static', 'git', now() from numbers
    """,
    f"""
    insert into deployments (id, site_id, env_id, artifact_id, digest, kind, status, created_at, deployed_at)
    select {_id("dep")}, {_id("site")}, {_id("env")}, {_id("art")}, n::text, 'deploy', 'superseded', now(),
      now() from numbers
    """,
    f"""
    insert into snapshots (id, site_id, env_id, job_id, kind, status, runtime, document, full_check,
      restic_id, manifest_digest, taken_at)
    select {_id("snap")}, {_id("site")}, {_id("env")}, {_id("job")}, 'scheduled', 'kept', 'static', '{{}}',
      false, '', '', now() from numbers
    """,
    f"""
    insert into functions (id, site_id, slug, display_name, language, bindings, env, secret_refs, limits,
      compatibility_date, created_at, updated_at)
    select {_id("fn")}, {_id("site")}, 'hello', '', 'javascript', '[]', '{{}}', '{{}}', '{{}}', '2026-01-01',
      now(), now() from numbers
    """,
    f"""
    insert into function_versions (id, function_id, artifact_id, digest, created_at)
    select {_id("fnv")}, {_id("fn")}, {_id("art")}, n::text, now() from numbers
    """,
    f"""
    insert into environment_secrets (id, env_id, name, sealed, size, plain, previews, updated_at)
    select {_id("sec")}, {_id("env")}, 'TOKEN', '', 0, false, false, now() from numbers
    """,
    f"""
    insert into dns_zones (site_id, name, mode, changed_at, next_attempt_at)
    select {_id("site")}, n || '.zone.example', 'live', now(), 'infinity' from numbers
    """,
    f"""
    insert into dns_records (id, site_id, type, name, value, ttl, version, created_at)
    select {_id("rec")}, {_id("site")}, 'TXT', n || '.zone.example', 'a', 300, 1, now() from numbers
    """,
    f"""
    insert into backup_schedules (site_id, due_at, since, last_status)
    select {_id("site")}, now() + interval '1 day', now(), 'succeeded' from numbers
    """,
    f"""
    insert into malware_scans (id, site_id, env_id, job_id, kind, cause, status, started_at, finished_at)
    select {_id("scan")}, {_id("site")}, {_id("env")}, {_id("job")}, 'full', 'scheduled', 'clean', now(),
      now() from numbers
    """,
    f"""
    insert into malware_detections (id, site_id, env_id, scan_id, source, path, signature, engine, sha256,
      movable, status, announced, detected_at, updated_at)
    select {_id("det")}, {_id("site")}, {_id("env")}, {_id("scan")}, 'file', 'wp-content/a.php', 'a', 'yara',
      '', true, 'detected', true, now(), now() from numbers
    """,
    f"""
    insert into vulnerability_findings (env_id, vulnerability_id, version_id, site_id, opened_at, announced)
    select {_id("env")}, 'vulnerability-' || n % 100, n % 1000, {_id("site")}, now(), true from numbers
    """,
    """
    insert into vulnerabilities (id, digest, generation, title, copyrights, matched)
    select 'vulnerability-' || n, '', 1, 'A', '{}', true from generate_series(0, 99) n
    """,
    f"""
    insert into events (id, type, account_id, team_id, site_id, data, created_at, mode, position)
    select {_id("evt")}, 'site.restarted', case when {_IS_PERSONAL} then {_ACCOUNT} end,
      case when not {_IS_PERSONAL} then {_TEAM} end, {_id("site")}, '{{}}', now(), 'live', 1000000000 + n
    from numbers
    """,
    f"""
    insert into webhook_endpoints (id, account_id, mode, url, event_types, secret, created_at)
    select {_id("whe")}, {_ACCOUNT}, 'live', 'https://others.example', '{{*}}', '', now() from numbers
    """,
    f"""
    insert into webhook_deliveries (id, endpoint_id, event_id, status, created_at, delivered_at)
    select {_id("whd")}, {_id("whe")}, {_id("evt")}, 'delivered', now(), now() from numbers
    """,
    f"""
    insert into notifications (id, account_id, event_id, type, category, severity, bell, title, body, payload,
      in_app, created_at)
    select {_id("ntf")}, {_ACCOUNT}, {_id("evt")}, 'site.restarted', 'site', 'info', false, '', '', '{{}}',
      true, now() from numbers
    """,
    f"""
    insert into audit_events (id, event, outcome, actor_kind, actor_user_id, team_id, site_id, meta,
      created_at)
    select {_id("aud")}, 'site_restart', 'success', 'member', {_ACCOUNT}, {_TEAM}, {_id("site")}, '{{}}',
      now() from numbers
    """,
    f"""
    insert into api_keys (id, account_id, mode, last4, scopes, ip_allowlist, expires_at, created_at)
    select {_id("key")}, {_ACCOUNT}, 'live', 'a1B2', '{{sites:read}}', '{{}}', now() + interval '90 days',
      now() from numbers
    """,
    f"""
    insert into sessions (id, account_id, secret_hash, created_at, last_used_at)
    select {_id("sess")}, {_ACCOUNT}, n::text::bytea, now(), now() from numbers
    """,
)
_JOBS = f"""
insert into jobs (id, type, status, site_id, owner, scope, resource, params, created_at, finished_at)
select {_id("job")}, 'site.restart', 'succeeded', {_id("site", "1 + n % $2::int")}, {_ACCOUNT}, 'sites:write',
  '{{"type": "site"}}', '{{}}', now(), now() from generate_series(1, $1::int) n
"""


async def add_other_owners(url: str, *, sites: int, jobs: int) -> None:
    """Nobody is notified of these jobs and events: a notice for each row would take most of the time."""
    numbers = (
        f"with numbers as (select n from generate_series(1, {sites}) n),"
        f" owners as (select n from generate_series(0, {sites}, {SITES_PER_OWNERS}) n)"
    )
    connection = await asyncpg.connect(url)
    try:
        for table in ("jobs", "events"):
            await connection.execute(f"alter table {table} disable trigger user")
        for statement in _STATEMENTS:
            await connection.execute(numbers + statement)
        await connection.execute(_JOBS, jobs, sites)
        for table in ("jobs", "events"):
            await connection.execute(f"alter table {table} enable trigger user")
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
