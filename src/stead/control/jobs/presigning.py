"""Replaces object keys in the work of a node command by presigned URLs, and sealed secrets by plain ones.

This happens when the command is sent, so that URLs and keys are never stored and are valid only as long as
needed.
"""

import base64
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from stead.control.engines.object_store import ObjectStore
from stead.control.sealing import Sealer
from stead.protocol.work.access import RunCommand, SetPassword
from stead.protocol.work.builds import ArchiveSource, Build, GitSource
from stead.protocol.work.cms import ChangeComponents, ChangeContent, ExportDatabase, SiteChange
from stead.protocol.work.functions import EnsureFunction
from stead.protocol.work.hosting import EnsureEnvironment, WordPressSettings
from stead.protocol.work.kinds import Work
from stead.protocol.work.releases import EnsureRelease

SECONDS = 45 * 60
"""Longer than the time limit of a build."""


def presign_urls(work: Work, objects: ObjectStore) -> Work:
    match work:
        case EnsureRelease():
            return _presign_release(work, objects)
        case EnsureEnvironment(release=release, functions=functions) if release or functions:
            return replace(
                work,
                release=_presign_release(release, objects) if release else None,
                functions=tuple(
                    replace(each, release=_presign_release(each.release, objects)) for each in functions
                ),
            )
        case EnsureFunction(release=release):
            return replace(work, release=_presign_release(release, objects))
        case Build():
            return _presign_build(work, objects)
        case ChangeComponents():
            changes = [
                replace(each, archive=objects.presigned_get_url(each.archive, seconds=SECONDS))
                if each.archive
                else each
                for each in work.changes
            ]
            return replace(work, changes=tuple(changes))
        case ExportDatabase():
            return replace(work, url=objects.presigned_put_url(work.url, seconds=SECONDS))
    return work


def deploy_key_context(site: str) -> bytes:
    """The sealing context of the private deploy key of a site."""
    return f"deploy key of {site}".encode()


def password_context(site: str) -> bytes:
    """The sealing context of the first password of a site's administrator."""
    return f"first password of {site}".encode()


def command_context(site: str) -> bytes:
    """The sealing context of the arguments of a command in a site."""
    return f"command in {site}".encode()


def password_hash_context(site: str) -> bytes:
    """The sealing context of the hash of a new password."""
    return f"password hash of {site}".encode()


def content_context(site: str) -> bytes:
    """The sealing context of changes to the content of a site."""
    return f"content of {site}".encode()


def statement_context(site: str) -> bytes:
    """The sealing context of a statement whose result is exported."""
    return f"statement in {site}".encode()


def secret_context(id_: str) -> bytes:
    """The sealing context of a secret of an environment."""
    return f"secret of {id_}".encode()


class BuildVariables(NamedTuple):
    """Pairs: the id of a secret, which ends with a slash and its name, and the sealed value in base64."""

    secret: tuple[tuple[str, str], ...]
    plain: tuple[tuple[str, str], ...]


def unseal_secrets(work: Work, sealer: Sealer, site: str) -> Work:
    """Secrets that are stored stay sealed until the command is sent."""
    match work:
        case Build():
            return _unseal_build(work, sealer, site)
        case EnsureFunction():
            return _unseal_function(work, sealer)
        case EnsureEnvironment(functions=functions) if functions:
            return replace(work, functions=tuple(_unseal_function(each, sealer) for each in functions))
        case EnsureEnvironment(wordpress=WordPressSettings(admin_password=password) as settings) if password:
            opened = sealer.open(base64.b64decode(password), context=password_context(site))
            return replace(work, wordpress=replace(settings, admin_password=opened.decode()))
        case RunCommand(args=(sealed,)):
            opened = sealer.open(base64.b64decode(sealed), context=command_context(site))
            return replace(work, args=msgspec.json.decode(opened, type=tuple[str, ...]))
        case ChangeContent(changes=(SiteChange(body=sealed_changes),)):
            opened = sealer.open(base64.b64decode(sealed_changes), context=content_context(site))
            changes = msgspec.json.decode(opened, type=tuple[tuple[str, str], ...])
            return replace(work, changes=tuple(SiteChange(kind, body.encode()) for kind, body in changes))
        case ExportDatabase(statement=sealed_statement) if sealed_statement:
            opened = sealer.open(base64.b64decode(sealed_statement), context=statement_context(site))
            return replace(work, statement=opened)
        case SetPassword(password_hash=sealed):
            opened = sealer.open(base64.b64decode(sealed), context=password_hash_context(site))
            return replace(work, password_hash=opened.decode())
    return work


def _unseal_build(work: Build, sealer: Sealer, site: str) -> Build:
    source = work.source
    if isinstance(source, GitSource) and source.key:
        opened = sealer.open(base64.b64decode(source.key), context=deploy_key_context(site))
        source = replace(source, key=opened.decode())
    return replace(
        work,
        source=source,
        variables=_unseal_variables(work.variables, sealer),
        plain_variables=_unseal_variables(work.plain_variables, sealer),
    )


def _unseal_function(work: EnsureFunction, sealer: Sealer) -> EnsureFunction:
    return replace(work, secrets=_unseal_variables(work.secrets, sealer))


def _unseal_variables(variables: tuple[tuple[str, str], ...], sealer: Sealer) -> tuple[tuple[str, str], ...]:
    return tuple(
        (id_.rpartition("/")[2], sealer.open(base64.b64decode(sealed), context=secret_context(id_)).decode())
        for id_, sealed in variables
    )


def _presign_release(work: EnsureRelease, objects: ObjectStore) -> EnsureRelease:
    layers = [replace(each, url=objects.presigned_get_url(each.url, seconds=SECONDS)) for each in work.layers]
    return replace(work, layers=tuple(layers))


def _presign_build(work: Build, objects: ObjectStore) -> Build:
    source = work.source
    if isinstance(source, ArchiveSource) and source.ours:
        source = replace(source, url=objects.presigned_get_url(source.url, seconds=SECONDS))
    layer_url = objects.presigned_put_url(work.layer_url, seconds=SECONDS)
    return replace(work, source=source, layer_url=layer_url)
