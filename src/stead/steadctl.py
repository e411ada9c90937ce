"""`steadctl`: the command line for operators."""

import asyncio
import base64
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from stead.control.accounts.commands import app as accounts
from stead.dev.commands import app as dev
from stead.node.images.commands import app as images

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
nodes = typer.Typer(no_args_is_help=True, help="Enrol, show and drain the nodes of this cell.")
app.add_typer(dev, name="dev")
app.add_typer(images, name="images")
app.add_typer(accounts, name="accounts")
app.add_typer(nodes, name="nodes")
ssh = typer.Typer(help="The SSH gateway of a node.")
app.add_typer(ssh, name="ssh")
artifacts = typer.Typer(no_args_is_help=True, help="Manage artifacts and the keys that sign them.")
app.add_typer(artifacts, name="artifacts")
keys = typer.Typer(no_args_is_help=True, help="Manage the keys that encrypt secrets at rest.")
app.add_typer(keys, name="keys")
insights = typer.Typer(help="What nodes have recorded about sites.")
app.add_typer(insights, name="insights")
backups = typer.Typer(no_args_is_help=True, help="Show, maintain and recover the backups of sites.")
app.add_typer(backups, name="backups")


@app.command()
def api() -> None:
    """Serve the HTTP API. Reads STEAD_* settings."""
    from stead.control.serving import run_api

    run_api()


@app.command()
def worker() -> None:
    """Run jobs, receive messages from nodes, deliver webhooks and mail. Reads STEAD_* settings."""
    from stead.control.serving import run_worker

    run_worker()


@app.command()
def node() -> None:
    """Run the sites of this machine. Reads STEAD_NODE_* settings."""
    from stead.node.main import run

    run()


@ssh.callback(invoke_without_command=True)
def ssh_gateway(context: typer.Context) -> None:
    """Let people enter the sites of this node over SSH. Reads STEAD_NODE_DATA and STEAD_SSH_* settings."""
    from stead.node.ssh.gateway.main import run

    if context.invoked_subcommand is None:
        run()


@ssh.command("host-key")
def ssh_host_key() -> None:
    """Print the fingerprint of the host key, and the key itself. Creates the key if there is none."""
    from stead.node.ssh.gateway.host_key import load_host_key
    from stead.node.ssh.gateway.settings import from_environment

    key = load_host_key(from_environment().host_key)
    typer.echo(key.get_fingerprint())
    typer.echo(key.export_public_key().decode().strip())


@app.command()
def edge() -> None:
    """Serve the sites of this node's region: replaces this process by nginx. Reads STEAD_EDGE_* settings."""
    from stead.edge.main import run

    run()


@app.command()
def functions() -> None:
    """Run the WebAssembly functions of this node. Reads the settings of the node."""
    from stead.node.functions.main import run

    run()


@app.command()
def repositories() -> None:
    """Let nodes add to the backups of their sites. Reads STEAD_REPOSITORIES_*, STEAD_S3_* and
    STEAD_REPOSITORY_KEY."""
    from stead.repositories.main import run

    run()


@app.command()
def announce(
    delete_unknown: Annotated[
        bool, typer.Option(help="Also delete if a large part of all records is unknown.")
    ] = False,
) -> None:
    """Send the records of all sites to the edges again, and delete those of sites that do not exist. Needs
    the settings of a worker."""
    from stead.control.edge_feed.republishing import TooManyUnknown
    from stead.control.provisioning import announce_everything

    def report_progress(count: int) -> None:
        typer.echo(f"{count} sites so far", err=True)

    try:
        sites, removed = asyncio.run(announce_everything(report_progress, delete_unknown=delete_unknown))
    except TooManyUnknown as error:
        typer.echo(f"steadctl announce: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{sites} sites were announced, {removed} records of unknown sites were deleted")


@app.command()
def migrate() -> None:
    """Migrate the database to this version of Stead. Can be repeated."""
    from stead.control.engines.migrations import migrate as upgrade
    from stead.control.settings import from_environment

    upgrade(from_environment().database_url)


@app.command()
def openapi() -> None:
    """Print the OpenAPI description. Needs no engine."""
    from stead.control.documents import description

    typer.echo(description(), nl=False)


@app.command()
def generate(
    root: Annotated[Path, typer.Argument(help="The root of a checkout.")] = Path(),
    *,
    check: Annotated[bool, typer.Option(help="Only check that the files are up to date.")] = False,
) -> None:
    """Write the generated files: API description, error and event pages, tables, package list."""
    from stead.control import documents as control_documents
    from stead.dev import documents as dev_documents
    from stead.node import documents as node_documents
    from stead.repositories import documents as repositories_documents

    others = dev_documents, node_documents, repositories_documents
    if not check:
        for documents in (control_documents, *others):
            documents.write(root)
    elif stale := [
        *control_documents.stale(root),
        *(path for documents in others for path in documents.find_stale(root)),
    ]:
        typer.echo(f"out of date, run `make generate`: {', '.join(map(str, stale))}", err=True)
        raise typer.Exit(1)


@insights.callback(invoke_without_command=True)
def show_insights(context: typer.Context) -> None:
    """Show what nodes have sent about their sites: how far it is complete, what waits, what was lost, and
    how much is stored. Needs the settings of a worker."""
    from stead.control.provisioning import insights_status

    if context.invoked_subcommand is None:
        typer.echo(asyncio.run(insights_status()))


@insights.command("logs")
def show_platform_logs(
    hours: Annotated[int, typer.Option(min=1, max=720, help="How far to look back.")] = 1,
    program: Annotated[str, typer.Option(help="Only of this program: api, worker or node.")] = "",
    instance: Annotated[str, typer.Option(help="Only of this node or process.")] = "",
    level: Annotated[str, typer.Option(help="Only of this level: info, warning or error.")] = "",
    event: Annotated[str, typer.Option(help="Only with this event name.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="The newest ones.")] = 200,
) -> None:
    """Show what the API, workers and nodes have logged. It has no data of tenants: the logs of the programs
    themselves have more. Needs the settings of a worker."""
    from stead.control.provisioning import InsightsUnavailable, platform_logs

    try:
        typer.echo(asyncio.run(platform_logs(hours, program, instance, level, event, limit)))
    except InsightsUnavailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


@insights.command("metrics")
def show_platform_metrics(
    name: Annotated[str, typer.Argument(help="How the names of the metrics begin.")] = "stead_",
    hours: Annotated[int, typer.Option(min=1, max=720, help="How far to look back.")] = 1,
) -> None:
    """Show the metrics of the API, workers and nodes: the last, least and greatest value of each series.
    Needs the settings of a worker."""
    from stead.control.provisioning import InsightsUnavailable, platform_metrics

    try:
        typer.echo(asyncio.run(platform_metrics(name, hours)))
    except InsightsUnavailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


@insights.command("erase")
def erase_insights(site: str) -> None:
    """Delete everything that was recorded about the visitors of a site. What its node has not sent yet still
    arrives; run it again a few minutes later."""
    from stead.control.provisioning import InsightsNotErased, erase_insights

    try:
        asyncio.run(erase_insights(site))
    except InsightsNotErased as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{site}: deleted")


@nodes.command("list")
def list_nodes() -> None:
    """Show every node with its region, its capacity and the time of its last heartbeat."""
    from stead.control.provisioning import node_table

    typer.echo(asyncio.run(node_table()))


@nodes.command("show")
def show_node(node: str) -> None:
    """Show one node, its enrolment, and how many of the records sent to its edge are applied."""
    from stead.control.provisioning import describe_enrolment, edge_progress, node_table

    typer.echo(asyncio.run(node_table(node)))
    typer.echo(asyncio.run(describe_enrolment(node)))
    typer.echo(asyncio.run(edge_progress(node)))


@nodes.command("add")
def add_node(
    node: str,
    region: Annotated[str, typer.Option(help="The region whose sites it serves.")],
    key: Annotated[str, typer.Option(help="Its public key, as `steadctl nodes public-key` prints it.")],
    *,
    builds: Annotated[bool, typer.Option(help="Whether it may build. It sees the deploy keys then.")] = False,
    capacity: Annotated[
        int,
        typer.Option(help="The most environments that it gets, even if it accepts more.", min=0, max=10**9),
    ] = 100,
    edge_address: Annotated[
        str | None,
        typer.Option(help="host:port where other edges reach its edge. Default: as in its next heartbeat."),
    ] = None,
) -> None:
    """Enrol a node, or change its enrolment. A node that is not enrolled gets no work and no records."""
    from stead.control.provisioning import enrol_node
    from stead.protocol.edge_records import is_peer_address
    from stead.protocol.sealed_work import InvalidNodeKey

    for word in (node, region):
        if re.fullmatch("[a-z0-9-]{1,63}", word) is None:
            raise typer.BadParameter(f"{word!r} is not 1 to 63 lower case letters, digits and hyphens")
    if edge_address is not None and not is_peer_address(edge_address):
        raise typer.BadParameter(f"{edge_address!r} is not host:port")
    try:
        asyncio.run(
            enrol_node(node, region, key, may_build=builds, max_capacity=capacity, edge_address=edge_address)
        )
    except InvalidNodeKey as error:
        raise typer.BadParameter(str(error)) from None


@nodes.command("public-key")
def public_key() -> None:
    """On a node: print the public key of STEAD_NODE_KEY. Needs no engine."""
    from stead.protocol.sealed_work import InvalidNodeKey, key_from_text, public_key_of

    try:
        public = public_key_of(key_from_text(os.environ.get("STEAD_NODE_KEY", "")))
    except InvalidNodeKey as error:
        typer.echo(f"STEAD_NODE_KEY: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(base64.b64encode(public).decode())


@nodes.command("drain")
def drain_node(
    node: str, *, undo: Annotated[bool, typer.Option(help="Allow new sites on the node again.")] = False
) -> None:
    """Place no new sites on a node. Existing sites stay."""
    from stead.control.provisioning import set_draining

    if not asyncio.run(set_draining(node, draining=not undo)):
        typer.echo(f"there is no node {node}", err=True)
        raise typer.Exit(1)


@nodes.command("remove")
def remove_node(node: str) -> None:
    """Remove a node that is lost for good. Its environments are restored on other nodes. Needs the settings
    of a worker; can be repeated."""
    from stead.control.node_removal import NodeNotLost
    from stead.control.node_removal import remove_node as remove

    try:
        removal = asyncio.run(remove(node))
    except (LookupError, NodeNotLost) as error:
        typer.echo(str(error.args[0]), err=True)
        raise typer.Exit(1) from None
    typer.echo(
        f"{removal.restoring} environments are being restored on other nodes, {removal.moved} were moved"
    )
    if removal.left:
        typer.echo(
            f"{removal.left} environments are left: no node of their region has room. Add one, and repeat.",
            err=True,
        )
        raise typer.Exit(1)


@nodes.command("key")
def region_key(region: str) -> None:
    """Print the edge key of a region. Its nodes need it as STEAD_EDGE_KEY to serve certificates."""
    from stead.control.provisioning import edge_key
    from stead.shared.edge_keys import InvalidEdgeKey

    try:
        typer.echo(edge_key(region))
    except InvalidEdgeKey as error:
        typer.echo(f"STEAD_EDGE_MASTER_KEY: {error}", err=True)
        raise typer.Exit(1) from None


@artifacts.command("list")
def list_artifacts(most: Annotated[int, typer.Option(help="The maximum number of artifacts.")] = 50) -> None:
    """Show the newest artifacts of all sites."""
    from stead.control.provisioning import artifact_table

    typer.echo(asyncio.run(artifact_table(most)))


@artifacts.command("export")
def export_artifact(artifact: str, directory: Path) -> None:
    """Write an artifact as an OCI layout, together with its signature envelope and the signing key."""
    from stead.control.provisioning import export_artifact as export

    try:
        typer.echo(asyncio.run(export(artifact, directory)))
    except (LookupError, FileExistsError) as error:
        typer.echo(str(error.args[0]), err=True)
        raise typer.Exit(1) from None


@artifacts.command("rotate-key")
def rotate_key() -> None:
    """Sign new artifacts with a new key. Existing artifacts can still be deployed."""
    from stead.control.provisioning import rotate_signing_key

    typer.echo(asyncio.run(rotate_signing_key()))


@artifacts.command("remove-key")
def remove_key(key: str) -> None:
    """Stop trusting a signing key. Artifacts that it signed can no longer be deployed."""
    from stead.control.provisioning import remove_signing_key

    if not asyncio.run(remove_signing_key(key)):
        typer.echo("there is no such key", err=True)
        raise typer.Exit(1)


@artifacts.command("collect")
def collect_artifacts() -> None:
    """Remove artifacts and blobs that are no longer used, as workers do every few minutes."""
    from stead.control.provisioning import collect_artifacts as collect

    removed, blobs = asyncio.run(collect())
    typer.echo(f"{removed} artifacts and {blobs} blobs were removed")


@backups.command("status")
def backup_status() -> None:
    """Show how the last backups ended, sites without a recent one, repositories with a problem or without
    maintenance, and what is not in the second store. Exits with 1 if there is any of these. Needs the
    settings of a worker."""
    from stead.control.backups.operating import describe_backups

    text, has_findings = asyncio.run(describe_backups())
    typer.echo(text)
    if has_findings:
        raise typer.Exit(1)


@backups.command("recover")
def recover_backups() -> None:
    """Copy all repositories and releases from the second store to the first one, and check them. Adds only
    what is missing, so it can be repeated. Exits with 1 if a site has a problem. Needs the settings of a
    worker."""
    from stead.control.backups.operating import recover_first_store
    from stead.control.backups.recovery import NoSecondStore

    try:
        is_complete = asyncio.run(recover_first_store(typer.echo))
    except NoSecondStore as error:
        typer.echo(f"steadctl backups recover: {error}", err=True)
        raise typer.Exit(1) from None
    if not is_complete:
        raise typer.Exit(1)


@backups.command("restore-newest")
def restore_newest_snapshots(
    node: Annotated[str | None, typer.Option(help="Only environments on this node.")] = None,
) -> None:
    """Queue jobs that restore the newest snapshot of every WordPress environment that was on a lost node."""
    from stead.control.backups.recovery import restore_newest

    typer.echo(f"{asyncio.run(restore_newest(node))} environments are being restored")


@backups.command("password")
def print_repository_password(site: str) -> None:
    """Print the password of a site's repository, for restic."""
    from stead.control.backups.recovery import read_password

    if (password := asyncio.run(read_password(site))) is None:
        typer.echo("the site has no repository", err=True)
        raise typer.Exit(1)
    typer.echo(password)


@backups.command("maintain")
def maintain_repository(site: str) -> None:
    """Remove old snapshots of a site, check its repository and copy it, as workers do once a day."""
    from stead.control.backups.recovery import maintain_site

    if problem := asyncio.run(maintain_site(site)):
        typer.echo(problem, err=True)
        raise typer.Exit(1)


@backups.command("repair")
def repair_repository(site: str) -> None:
    """Replace damaged files of a repository from the second store, remove those that cannot be replaced, and
    mark the snapshots that need them."""
    from stead.control.backups.recovery import REPAIR_FAILED, repair_site

    try:
        repaired = asyncio.run(repair_site(site))
    except REPAIR_FAILED as error:
        typer.echo(f"steadctl backups repair: {str(error) or type(error).__name__}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{repaired.replaced} files were replaced, {repaired.removed} were removed")
    for snapshot in repaired.lost:
        typer.echo(f"{snapshot} is lost")


@backups.command("accept")
def accept_backup_problem(site: str) -> None:
    """Remove old snapshots of a site although something looked suspicious: you have found out why."""
    from stead.control.backups.recovery import accept_problem

    if not asyncio.run(accept_problem(site)):
        typer.echo(f"nothing looks suspicious at {site}", err=True)
        raise typer.Exit(1)


@keys.command("rotate")
def rotate_sealing_key() -> None:
    """Seal every stored secret with the first key of STEAD_SEALING_KEY, while the system runs."""
    from stead.control.provisioning import reseal_all

    async def report() -> None:
        async for line in reseal_all():
            typer.echo(line)

    asyncio.run(report())


def main() -> None:
    """Run a command. A missing setting or an unreachable database is a message, not a traceback."""
    from stead.control.engines.postgres import DATABASE_UNREACHABLE
    from stead.control.settings import SettingsInvalid

    try:
        app()
    except SettingsInvalid as error:
        sys.exit(f"steadctl: {error}")
    except DATABASE_UNREACHABLE as error:
        sys.exit(f"steadctl: the database is unreachable ({type(error).__name__})")


if __name__ == "__main__":
    main()
