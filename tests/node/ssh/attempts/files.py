"""Attempts to read and write files outside of the site."""

from tests.node.ssh.attempts.registry import attempt
from tests.node.ssh.gateway_node import GatewayNode, run


def _add_sftp(name: str, *commands: str) -> None:
    """An attempt to read `secret`, which is a file of the node."""

    @attempt(f"sftp: {name}")
    async def _(gateway: GatewayNode) -> bool:
        secret = gateway.node.data / "secret"
        secret.write_text("secret of the node")
        target = gateway.home / f"taken-{len(name)}-{name.replace(' ', '-')}"
        above = "../" * 30
        filled = [
            command.format(secret=secret, target=target, above=above, inside=str(secret).lstrip("/"))
            for command in commands
        ]
        await gateway.sftp(*filled)
        return target.exists() and "secret of the node" in target.read_text()


_add_sftp("read a file of the node", "get {secret} {target}")
_add_sftp("read above the root", "get {above}{inside} {target}")
_add_sftp(
    "read through a link",
    "-rm wp-content/uploads/link1",
    "symlink {secret} wp-content/uploads/link1",
    "get wp-content/uploads/link1 {target}",
)
_add_sftp(
    "read through a link to the root",
    "-rm wp-content/uploads/link2",
    "symlink / wp-content/uploads/link2",
    "get wp-content/uploads/link2/{inside} {target}",
)
_add_sftp("read through a process", "get /proc/1/root/{inside} {target}")


@attempt("read through a link that the edge follows")
async def _(gateway: GatewayNode) -> bool:
    secret = gateway.node.data / "public-secret"
    secret.write_text("secret of the node")
    secret.chmod(0o644)
    await gateway.ssh(f"ln -sfn {secret} wp-content/uploads/link3.txt")
    return "secret of the node" in (await gateway.site.get("/wp-content/uploads/link3.txt")).text


@attempt("write to WordPress itself, and to the platform")
async def _(gateway: GatewayNode) -> bool:
    places = (
        "wp-config.php",
        "index.php",
        ".bashrc",
        "/etc/stead/x",
        "/run/stead/bin/wp",
        "/run/start.sh",
        "/usr/x",
    )
    done = await gateway.ssh("; ".join(f"echo x >> {place} && echo written" for place in places))
    return b"written" in done.out


@attempt("write above the directory with scp")
async def _(gateway: GatewayNode) -> bool:
    target = gateway.node.data / "planted"
    source = gateway.home / "known_hosts"
    for old in ((), ("-O",)):
        remote = f"{gateway.user}@127.0.0.1:{'../' * 30}{target}"
        await run(["scp", *old, *gateway.options(), "-P", str(gateway.port), source, remote])
    return target.exists()
