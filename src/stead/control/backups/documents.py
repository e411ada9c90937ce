"""What the control plane adds to a snapshot, and which of its settings a restore brings back."""

from typing import Any

from stead.control.backups.rules import SnapshotDocument, SnapshotRelease
from stead.control.configuration import service as configuration
from stead.control.configuration.rules import SECRET, SECRET_DIGEST, Settings
from stead.control.deployments import service as deployments
from stead.control.domains import service as domains
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import Environment
from stead.control.redirects import service as redirects
from stead.control.sites import service as sites

NOT_RESTORED = frozenset({"security"})
"""An old snapshot must not weaken the protection of a site, so these settings stay as they are."""


async def build_document(tx: Tx, env: Environment) -> SnapshotDocument:
    facts = await sites.get_facts(tx, env.site_id)
    live = await deployments.find_live(tx, env.id)
    release = SnapshotRelease(live.artifact_id, live.digest, live.ref, live.commit) if live else None
    site_settings = await configuration.get_settings(tx, env.site_id)
    own_settings = await configuration.get_settings(tx, env.id)
    return SnapshotDocument(
        site_id=env.site_id,
        domain=facts.domain,
        env_id=env.id,
        host=await domains.choose_host(tx, env.id, env.subdomain),
        runtime=facts.runtime,
        php_version=await sites.get_php_version(tx, env.site_id),
        release=release,
        configuration=without_secrets(site_settings),
        override=without_secrets(own_settings),
        redirects=await redirects.list_rules(tx, env.site_id),
        secret_names=_list_secrets(site_settings, own_settings),
    )


def without_secrets(settings: Settings) -> Settings:
    return {
        block: {name: value for name, value in fields.items() if name not in (SECRET, SECRET_DIGEST)}
        for block, fields in settings.items()
    }


def _list_secrets(*layers: Settings) -> list[str]:
    return sorted({SECRET for layer in layers if SECRET in layer.get("security", {})})


def build_change(now: Settings, wanted: Settings) -> Settings:
    """The change that turns the settings of today into those of the snapshot. None removes a setting."""
    change: dict[str, dict[str, Any]] = {}
    for block in (now.keys() | wanted.keys()) - NOT_RESTORED:
        removed = dict.fromkeys(now.get(block, {}), None)
        change[block] = {**removed, **wanted.get(block, {})}
    return change
