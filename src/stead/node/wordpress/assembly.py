"""Puts the driver of WordPress environments together, if the node has what it needs."""

import os
import shutil
from collections.abc import Collection
from functools import partial
from pathlib import Path

import structlog

from stead.mariadb.server_settings import MAX_CONNECTIONS
from stead.node.access.table import AccessTable
from stead.node.containers.disks import Disks
from stead.node.containers.egress_rules import EgressRules, HostRule, read_plain_networks
from stead.node.containers.limits import MB
from stead.node.containers.runc import Runc
from stead.node.containers.services import Services
from stead.node.databases.node_databases import node_databases
from stead.node.databases.people_accounts import PeopleAccounts
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Driver
from stead.node.drivers.layout import edge_store
from stead.node.drivers.releases import Releases
from stead.node.feed.record_store import list_suspended
from stead.node.feed.run_directory import ADMIN_SOCKET
from stead.node.hosting.desired_state import DesiredState
from stead.node.hosting.hosts import Hosts, VisitedAgo
from stead.node.hosting.wake_budget import Needs, WakeBudget
from stead.node.images.image_store import ImageStore
from stead.node.images.on_demand import ImageMaker
from stead.node.platform_addresses import find_platform_addresses
from stead.node.processes import Run
from stead.node.settings import Settings
from stead.node.ssh.driver import SshDriver
from stead.node.ssh.sessions import DIRECTORY as SSH_DIRECTORY
from stead.node.ssh.sessions import SshSessions
from stead.node.ssh.site_programs import SitePrograms
from stead.node.ssh.visitor import Report
from stead.node.wordpress.captured_mail import CapturedMails
from stead.node.wordpress.component_registry import Registry
from stead.node.wordpress.cron_schedule import CronSchedule
from stead.node.wordpress.mail import SiteMail
from stead.node.wordpress.mail_relay import MailRelay
from stead.node.wordpress.mail_spool import MailSpool
from stead.node.wordpress.paths import EnvironmentPaths
from stead.node.wordpress.people_databases import PeopleDatabases
from stead.node.wordpress.purge_queue import PurgeQueue
from stead.node.wordpress.runtime import WordPressRuntime
from stead.node.wordpress.sign_ins import Ask, SignIns, ask_nobody
from stead.node.wordpress.site_log import write_to_log
from stead.node.wordpress.site_services import SiteServices
from stead.node.wordpress.spec import WordPressSecrets, WordPressSpec
from stead.shared.address_policy import Address

TOOLS = (
    *("runc", "mkfs.ext4", "mount", "umount", "setpriv", "ionice", "mariadbd", "mariadb", "mariadb-dump"),
    "restic",
)
MEMORY_FRACTION = 0.75
"""The part of the machine's memory that sites may use."""
RESERVED_CONNECTIONS = 100
"""To the database, for those that are just signing in and for commands."""
PUBLIC_PORTS = (80, 443, 465)

log = structlog.get_logger()


def wordpress_drivers(
    settings: Settings,
    run: Run,
    space: DiskSpace,
    releases: Releases,
    access: AccessTable,
    visited_ago: VisitedAgo,
    ask_sign_in: Ask = ask_nobody,
    report_session: Report = lambda *_: None,
) -> list[Driver]:
    """Empty where WordPress cannot run; the log says why."""
    images = ImageStore.at(settings.images)
    if reason := why_unavailable(settings, images):
        log.info("wordpress.unavailable", reason=reason)
        return []
    data, key = settings.data, settings.private_key
    assert key is not None  # noqa: S101
    platform: set[Address] = set(find_platform_addresses(settings))
    home = data / "hosting"
    home.mkdir(mode=0o711, exist_ok=True)
    state = DesiredState(_state_file(data), WordPressSpec, WordPressSecrets, key)
    runc, budget = Runc(run, home / "runc-jobs"), WakeBudget(awake_limit(settings))
    databases = node_databases(settings)
    runtime = WordPressRuntime(
        data,
        state,
        Hosts(Services(home / "runc"), budget, idle_seconds=settings.idle_seconds, visited_ago=visited_ago),
        databases,
        images,
        Disks(run),
        runc,
        _egress_rules(settings, platform),
        space,
        releases,
        _services(settings, home, state, ask_sign_in),
        partial(_refresh, platform, settings),
        partial(list_suspended, edge_store(data), settings.node_region),
        keep_running=settings.keep_sites_running,
        disk_overcommit=settings.disk_overcommit,
        image_maker=ImageMaker(images, run) if settings.images_on_demand else None,
        registry=Registry(
            settings.component_registry,
            frozenset(host.strip() for host in settings.component_hosts.split(",") if host.strip()),
            settings.component_trust,
        ),
        signatures=Path(settings.signatures) if settings.signatures else None,
    )
    programs = SitePrograms(runtime, runc, budget)
    sessions = SshSessions(access, programs, data / SSH_DIRECTORY, settings.gateway_uid, report_session)
    people = PeopleDatabases(access, PeopleAccounts(databases.databases.socket), state)
    # After those of SSH, whose tunnels lead there.
    ssh = SshDriver(sessions, runtime)
    runtime.before_closing(people.end_use)
    return [runtime, ssh, people]


def awake_limit(settings: Settings) -> Needs:
    """What all environments that are awake may use together."""
    machine_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MB
    memory_mb = settings.sites_memory_mb or int(machine_mb * MEMORY_FRACTION)
    return Needs(memory_mb, MAX_CONNECTIONS - RESERVED_CONNECTIONS)


def _services(
    settings: Settings,
    home: Path,
    state: DesiredState[WordPressSpec, WordPressSecrets],
    ask_sign_in: Ask,
) -> SiteServices:
    async def write_log(environment: str, text: str) -> None:
        spec = state.find_spec(environment)
        dataset = spec.datasets.current if spec else ""
        await write_to_log(EnvironmentPaths(settings.data, environment, dataset), text)

    relay = MailRelay(settings.site_mail_relay) if settings.site_mail_relay else None
    spool = MailSpool(home / "mail.sqlite", settings.site_mail_per_hour)
    return SiteServices(
        PurgeQueue(settings.data / "run" / ADMIN_SOCKET),
        CronSchedule(home / "cron.sqlite"),
        SiteMail(spool, relay, settings.site_mail_sender, write_log),
        CapturedMails(),
        SignIns(ask_sign_in),
    )


def _refresh(platform: set[Address], settings: Settings) -> None:
    """Other edges may have been added. An address that was one of the platform is never reached again."""
    platform |= find_platform_addresses(settings)


def why_unavailable(settings: Settings, images: ImageStore) -> str:
    """Empty when WordPress can run."""
    if os.geteuid() != 0:
        return "only root can start containers"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} is not installed"
    if settings.private_key is None:
        return "STEAD_NODE_KEY is not set"
    if settings.images_on_demand:
        return ""
    made = {image.metadata.name for image in images.list_images()}
    has_images = "wordpress" in made and any(name.startswith("php") for name in made)
    # A node that has had images may have sites, which must be found also when the images are lost.
    if not has_images and not _state_file(settings.data).exists():
        return "there are no images of WordPress and PHP: run steadctl images build php8.2 wordpress"
    return ""


def _state_file(data: Path) -> Path:
    return data / "hosting" / "wordpress.sqlite"


def _egress_rules(settings: Settings, platform: Collection[Address]) -> EgressRules:
    """Public addresses only, on the ports of the web and of encrypted mail."""
    hosts = tuple(HostRule("*", port) for port in PUBLIC_PORTS)
    networks = read_plain_networks(settings.platform_networks)
    return EgressRules(hosts, platform=platform, platform_networks=networks)
