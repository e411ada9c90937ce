"""`steadctl ssh`: the command line of the SSH gateway."""

import typer

app = typer.Typer(help="The SSH gateway of a node.")


@app.callback(invoke_without_command=True)
def ssh_gateway(context: typer.Context) -> None:
    """Let people enter the sites of this node over SSH. Reads STEAD_NODE_DATA and STEAD_SSH_* settings."""
    from stead.node.ssh.gateway.main import run

    if context.invoked_subcommand is None:
        run()


@app.command("host-key")
def ssh_host_key() -> None:
    """Print the fingerprint of the host key, and the key itself. Creates the key if there is none."""
    from stead.node.ssh.gateway.host_key import load_host_key
    from stead.node.ssh.gateway.settings import from_environment

    key = load_host_key(from_environment().host_key)
    typer.echo(key.get_fingerprint())
    typer.echo(key.export_public_key().decode().strip())
