"""`steadctl nodes`: commands for operators, about nodes."""

import asyncio
import base64
import os
import re
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Enrol, show and drain the nodes of this cell.")


@app.command("list")
def list_nodes() -> None:
    """Show every node with its region, its capacity and the time of its last heartbeat."""
    from stead.control.provisioning import node_table

    typer.echo(asyncio.run(node_table()))


@app.command("show")
def show_node(node: str) -> None:
    """Show one node, its enrolment, and how many of the records sent to its edge are applied."""
    from stead.control.provisioning import describe_enrolment, edge_progress, node_table

    typer.echo(asyncio.run(node_table(node)))
    typer.echo(asyncio.run(describe_enrolment(node)))
    typer.echo(asyncio.run(edge_progress(node)))


@app.command("add")
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


@app.command("public-key")
def public_key() -> None:
    """On a node: print the public key of STEAD_NODE_KEY. Needs no engine."""
    from stead.protocol.sealed_work import InvalidNodeKey, key_from_text, public_key_of

    try:
        public = public_key_of(key_from_text(os.environ.get("STEAD_NODE_KEY", "")))
    except InvalidNodeKey as error:
        typer.echo(f"STEAD_NODE_KEY: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(base64.b64encode(public).decode())


@app.command("nats-users")
def nats_users(
    nodes: Annotated[list[str] | None, typer.Argument(help="The nodes, besides the control plane.")] = None,
) -> None:
    """Print the users of NATS and their permissions, for the configuration of its server. Needs no engine."""
    from stead.protocol.nats_users import render_authorization

    try:
        typer.echo(render_authorization(nodes or ()))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@app.command("drain")
def drain_node(
    node: str, *, undo: Annotated[bool, typer.Option(help="Allow new sites on the node again.")] = False
) -> None:
    """Place no new sites on a node. Existing sites stay."""
    from stead.control.provisioning import set_draining

    if not asyncio.run(set_draining(node, draining=not undo)):
        typer.echo(f"there is no node {node}", err=True)
        raise typer.Exit(1)


@app.command("remove")
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


@app.command("key")
def region_key(region: str) -> None:
    """Print the edge key of a region. Its nodes need it as STEAD_EDGE_KEY to serve certificates."""
    from stead.control.provisioning import edge_key
    from stead.shared.edge_keys import InvalidEdgeKey

    try:
        typer.echo(edge_key(region))
    except InvalidEdgeKey as error:
        typer.echo(f"STEAD_EDGE_MASTER_KEY: {error}", err=True)
        raise typer.Exit(1) from None
