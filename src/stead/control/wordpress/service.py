"""The use cases of WordPress sites, each inside the caller's transaction."""

import base64
import secrets

from stead.control.configuration import service as configuration
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import Environment
from stead.control.jobs.presigning import password_context
from stead.control.sealing import Sealer
from stead.control.wordpress import store
from stead.control.wordpress.rules import WordPressLimits
from stead.control.wordpress.schema import NewAdministrator
from stead.protocol.work.hosting import WordPressSettings, promised_mb

PASSWORD_BYTES = 24


async def create(tx: Tx, sealer: Sealer, site: str, *, domain: str, admin: NewAdministrator, by: str) -> None:
    """Record the first administrator, with the address of the account that creates the site by default."""
    password = admin.password or secrets.token_urlsafe(PASSWORD_BYTES)
    await store.insert(
        tx,
        site,
        title=domain,
        user=admin.username,
        email=admin.email or await store.get_email(tx, by),
        password=sealer.seal(password.encode(), context=password_context(site)),
    )


async def build_settings(tx: Tx, env: Environment, host: str) -> WordPressSettings | None:
    """What the node needs to know; None if the site does not run WordPress. The password is still sealed."""
    found = await store.find(tx, env.site_id)
    if found is None:
        return None
    limits = await store.find_limits(tx, found.plan) or WordPressLimits()
    effective = await configuration.get_effective(tx, env.site_id, env.id)
    password = found.admin_password if env.type == "production" else None
    return WordPressSettings(
        php=found.php_version,
        url=f"https://{host}",
        title=found.title,
        admin_user=found.admin_user,
        admin_email=found.admin_email,
        # Only production is installed; other environments are copies.
        admin_password=base64.b64encode(password or b"").decode(),
        environment_type="production" if env.type == "production" else "staging",
        git_managed=found.git_managed,
        workers=effective.performance.php_workers,
        memory_mb=limits.memory_mb,
        cpus=limits.cpus,
        processes=limits.processes,
        disk_mb=limits.disk_mb,
        tenant=found.owner,
    )


async def get_admin_user(tx: Tx, site: str) -> str:
    """The name of the administrator that the site was created with."""
    found = await store.find(tx, site)
    return found.admin_user if found else NewAdministrator().username


async def get_promised_mb(tx: Tx, site: str) -> int:
    """How much disk space the node of an environment must be able to promise; 0 if it is not WordPress."""
    found = await store.find(tx, site)
    if found is None:
        return 0
    return promised_mb((await store.find_limits(tx, found.plan) or WordPressLimits()).disk_mb)


async def finish_installation(tx: Tx, site: str) -> None:
    """The password is known to WordPress, as a hash, and nobody else needs it."""
    await store.remove_password(tx, site)
