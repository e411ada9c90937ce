"""Use cases of access to sites, inside the caller's transaction."""

from collections.abc import Sequence

from msgspec import UNSET

from stead.control.access import store
from stead.control.access.events import SITE_PASSWORD_RESET, SITE_SSH_KEYS_CHANGED
from stead.control.access.jobs import APPLY_KEYS, ApplyKeysWork
from stead.control.access.public_keys import UnusableKey, format_key, parse_public_key
from stead.control.access.rules import (
    KINDS,
    CredentialKindUnknown,
    StoredKey,
    StoredPassword,
    hash_password,
)
from stead.control.access.schema import (
    CredentialsView,
    DatabaseAddress,
    EnvironmentAccess,
    NewCredentialView,
    NewSshKey,
    NewSshKeys,
    PasswordReset,
    SftpAddress,
    SshAddress,
    SshKeysView,
    SshKeyView,
)
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.exec.rules import may_run_anything
from stead.control.http.principal import Principal
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import NotYet, Refused
from stead.control.jobs.schema import JobView
from stead.control.keys import service as api_keys
from stead.control.members.rules import require_role_at_least
from stead.control.outbox.audit import AuditEntry
from stead.control.outbox.events import About, publish
from stead.control.sites.rules import VisibleSite, require_changeable
from stead.protocol.database_names import name_people_account, name_schema
from stead.shared import secrets
from stead.shared.errors import FieldInvalid
from stead.shared.ids import new_id

DATABASE_HOST, DATABASE_PORT = "127.0.0.1", 3306


async def list_ssh_keys(tx: Tx, site: VisibleSite) -> SshKeysView:
    return SshKeysView([_view(key) for key in await store.list_keys(tx, site.id)])


async def replace_ssh_keys(
    tx: Tx, caller: Principal, site: VisibleSite, wanted: NewSshKeys, entry: AuditEntry
) -> JobView:
    """A key that is listed already stays with its owner, whoever lists it again. Whoever removes a key of
    somebody else needs a role that is at least as high."""
    require_changeable(site.status)
    named = _read_keys(wanted.keys, caller, site, tx)
    granted_by = sorted(await api_keys.lock_used_keys(tx, caller))
    await store.lock_lists(tx, site.id)
    known = {key.fingerprint: key for key in await store.list_keys(tx, site.id)}
    removed = [key for key in known.values() if key.fingerprint not in named]
    for key in removed:
        if key.account_id != caller.account_id:
            require_role_at_least(site.role, key.role)
    await store.remove_outlived(tx, site.id)
    await store.remove_keys(tx, site.id, [key.id for key in removed])
    added = 0
    for fingerprint, (key, label) in named.items():
        before = known.get(fingerprint)
        if before is None:
            await store.insert_key(tx, site.id, key, granted_by=granted_by)
            added += 1
        elif label is not None and before.account_id == caller.account_id:
            await store.rename_key(tx, before.id, label)
    entry.note(added=added, removed=len(removed))
    about = About(account_id=site.account_id, team_id=site.team_id, site_id=site.id)
    await publish(tx, SITE_SSH_KEYS_CHANGED, about, domain=site.domain, added=added, removed=len(removed))
    subject = jobs.Subject(site.id, site.owner)
    return await jobs.enqueue(tx, APPLY_KEYS, ApplyKeysWork(), subject, scope="credentials:write")


async def require_delivered(tx: Tx, site: str) -> None:
    """Raises NotYet until every live node has its list. Lost nodes get theirs when they are back."""
    progress = await store.get_progress(tx, site)
    if progress.refused is not None:
        raise Refused(progress.refused, "A node did not accept the list of keys.")
    if progress.is_pending:
        raise NotYet


async def get_credentials(tx: Tx, site: VisibleSite, *, host: str, port: int) -> CredentialsView:
    """`host` contains `{node}`."""
    passwords = {(each.env_id, each.kind): each for each in await store.list_passwords(tx, site.id)}
    found = []
    for env in await store.list_environments(tx, site.id):
        if not env.is_open or env.node_id is None:
            continue
        address = SshAddress(host.replace("{node}", env.node_id), port, env.user)
        sftp, database = (passwords.get((env.id, kind)) for kind in KINDS)
        found.append(
            EnvironmentAccess(
                env_id=env.id,
                type=env.type,
                branch=env.branch,
                ssh=address,
                sftp=SftpAddress(
                    address.host,
                    address.port,
                    address.user,
                    has_password=sftp is not None,
                    password_created_at=sftp.created_at if sftp else None,
                ),
                database=DatabaseAddress(
                    DATABASE_HOST,
                    DATABASE_PORT,
                    user=name_people_account(env.id),
                    name=name_schema(env.id, env.dataset),
                    has_password=database is not None,
                    password_created_at=database.created_at if database else None,
                ),
            )
        )
    return CredentialsView(found)


async def reset_password(
    tx: Tx, caller: Principal, site: VisibleSite, kind: str, wanted: PasswordReset, entry: AuditEntry
) -> NewCredentialView:
    known = next((each for each in KINDS if each == kind), None)
    if known is None:
        raise CredentialKindUnknown
    require_changeable(site.status)
    env = await environments.find_in_site(tx, caller, site.id, wanted.environment)
    require_changeable(env.status)
    granted_by = sorted(await api_keys.lock_used_keys(tx, caller))
    await store.lock_lists(tx, site.id)
    secret = secrets.new_password(f"stead_{kind}")
    hash_ = hash_password(known, secret)
    password = StoredPassword(env.id, new_id("pass"), caller.account_id, hash_, tx.now, None, known)
    await store.set_password(tx, site.id, password, granted_by=granted_by)
    entry.note(kind=kind, env_id=env.id)
    about = About(account_id=site.account_id, team_id=site.team_id, site_id=site.id, env_id=env.id)
    await publish(tx, SITE_PASSWORD_RESET, about, domain=site.domain, env_id=env.id, kind=kind)
    user = name_people_account(env.id) if known == "database" else env.subdomain.partition(".")[0]
    return NewCredentialView(known, env.id, user, secret, tx.now)


def _read_keys(
    wanted: Sequence[NewSshKey], caller: Principal, site: VisibleSite, tx: Tx
) -> dict[str, tuple[StoredKey, str | None]]:
    """The keys by fingerprint, each with the label that the caller gave it."""
    named: dict[str, tuple[StoredKey, str | None]] = {}
    for index, new in enumerate(wanted):
        param = f"keys.{index}.public_key"
        try:
            key = parse_public_key(new.public_key)
        except UnusableKey as reason:
            raise FieldInvalid(param=param, reason=str(reason)) from None
        if key.fingerprint in named:
            raise FieldInvalid(param=param, reason=f"The key {key.fingerprint} is in the list twice.")
        label = None if new.label is UNSET else new.label
        stored = StoredKey(
            id=new_id("sshk"),
            account_id=caller.account_id,
            label=key.comment if label is None else label,
            type=key.type,
            public_key=key.blob,
            fingerprint=key.fingerprint,
            may_run_commands=may_run_anything(caller, site.role),
            created_at=tx.now,
            expires_at=None,
            role=site.role,
        )
        named[key.fingerprint] = stored, label
    return named


def _view(key: StoredKey) -> SshKeyView:
    return SshKeyView(
        id=key.id,
        client_id=key.account_id,
        label=key.label,
        type=key.type,
        fingerprint=key.fingerprint,
        public_key=format_key(key.type, key.public_key),
        may_run_commands=key.may_run_commands,
        created_at=key.created_at,
    )
