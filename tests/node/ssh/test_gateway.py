"""What people do over SSH, with the clients that they use."""

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path

from structlog.testing import capture_logs

from stead.dev.ports import reserve_ports
from stead.node.containers.limits import GATEWAY_UID
from stead.node.databases.names import people_account
from stead.protocol.work.hosting import DiscardDataset, SuspendEnvironment
from stead.shared.ids import EnvironmentId
from tests.node.harness import until
from tests.node.ssh.attempts.registry import connected
from tests.node.ssh.gateway_node import (
    PASSWORD,
    GatewayNode,
    make_key,
    run,
    start_gateway,
    wait_until_it_listens,
)
from tests.node.wordpress.wordpress_node import LIMITS
from tests.patience import time_limit

MB = 1 << 20


async def test_a_command_runs_in_the_site_and_its_exit_code_comes_back(gateway: GatewayNode):
    done = await gateway.ssh("id -u; pwd; echo to stderr >&2; exit 7")
    assert (done.code, done.out.split()) == (7, [b"33", b"/srv/site"]), done.err
    assert "to stderr" in done.err
    assert (await gateway.ssh("cat", stdin=b"\0\xff" * 100_000)).out == b"\0\xff" * 100_000
    # The last output comes before the exit code, however fast the program ends.
    assert len((await gateway.ssh("head -c 3000000 /dev/zero")).out) == 3_000_000
    await gateway.no_session_is_left()


async def test_wp_cli_is_there(gateway: GatewayNode):
    done = await gateway.ssh("wp core version && wp option get siteurl")
    assert done.out.split() == [b"7.1.1", f"https://{gateway.site.host}".encode()], done.err


def test_the_gateway_has_no_privileges(gateway: GatewayNode):
    status = Path(f"/proc/{gateway.process.pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert set(fields["Uid"].split()) == set(fields["Gid"].split()) == {str(GATEWAY_UID)}
    assert (fields["CapEff"], fields["CapPrm"], fields["NoNewPrivs"]) == ("0" * 16, "0" * 16, "1")
    assert fields["Groups"].strip() == ""


async def test_a_shell_has_a_terminal_whose_size_follows_the_window(gateway: GatewayNode):
    ours, theirs = pty.openpty()
    _set_size(ours, 91, 33)
    client = subprocess.Popen(  # noqa: ASYNC220
        gateway.ssh_argv(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    seen = bytearray()

    async def sees(text: bytes) -> None:
        async def look() -> bool | None:
            with suppress(OSError):
                seen.extend(os.read(ours, 65536))
            return text in seen or None

        await until(look)
        seen.clear()

    try:
        await sees(b"$ ")
        os.write(ours, b"stty size; tty; echo $TERM.\n")
        await sees(b"33 91")
        _set_size(ours, 120, 40)
        os.write(ours, b"sleep 0.2; stty size\n")
        await sees(b"40 120")
        # Ctrl-C ends a program and not the shell, nor the proxy beside it.
        os.write(ours, b"sleep 86400\n")
        await sees(b"sleep 86400")
        os.write(ours, b"\x03")
        await sees(b"$ ")
        os.write(ours, b"echo still-$((40+2)); exit 3\n")
        await sees(b"still-42")

        async def ended() -> bool | None:
            return client.poll() is not None or None

        await until(ended)
        assert client.returncode == 3
    finally:
        client.kill()
        client.wait()
        os.close(ours)
    await gateway.no_session_is_left()


async def test_files_go_both_ways_with_sftp_scp_and_rsync(gateway: GatewayNode, tmp_path: Path):
    large, small = tmp_path / "large.bin", tmp_path / "small.bin"
    large.write_bytes(os.urandom(MB) * 50)
    small.write_bytes(os.urandom(3 * MB))
    place = "wp-content/uploads"
    done = await gateway.sftp(f"put {large} {place}/large.bin", f"get {place}/large.bin {tmp_path}/back.bin")
    assert done.code == 0, done.err
    stored = gateway.site.paths.uploads / "large.bin"
    assert digest(stored) == digest(tmp_path / "back.bin") == digest(large)
    assert stored.stat().st_uid == gateway.site.paths.uploads.stat().st_uid
    base = [*gateway.options(), "-P", str(gateway.port), "-q"]
    remote = f"{gateway.user}@127.0.0.1:{place}"
    # Both protocols of scp: the new one is SFTP.
    for old in ([], ["-O"]):
        name = f"scp{len(old)}.bin"
        for source, target in ((str(small), f"{remote}/{name}"), (f"{remote}/{name}", f"{tmp_path}/{name}")):
            assert (done := await run(["scp", *old, *base, source, target])).code == 0, done.err
        assert digest(tmp_path / name) == digest(small)
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "ümlaut and space").write_text("x")
    (tree / "small.bin").hardlink_to(small)
    rsync = ["rsync", "-a", "--delete", "-e", gateway.remote_shell()]
    assert (done := await run([*rsync, f"{tree}/", f"{remote}/tree/"])).code == 0, done.err
    assert (done := await run([*rsync, f"{remote}/tree/", f"{tmp_path}/back/"])).code == 0, done.err
    assert (tmp_path / "back/sub/ümlaut and space").read_text() == "x"
    assert digest(tmp_path / "back/small.bin") == digest(small)
    await gateway.ssh(f"rm -rf {place}/*.bin {place}/tree")


@asynccontextmanager
async def tunnel_to_database(gateway: GatewayNode) -> AsyncIterator[list[str]]:
    """A client for the database, as a command."""
    (port,) = reserve_ports(1)
    tunnel = await asyncio.create_subprocess_exec(
        *gateway.ssh_argv("cat", extra=["-o", "ExitOnForwardFailure=yes", "-L", f"{port}:db:3306"]),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert tunnel.stdin is not None
    assert tunnel.stdout is not None
    try:
        tunnel.stdin.write(b"ready\n")
        async with time_limit(30):
            assert await tunnel.stdout.readline() == b"ready\n"
        yield ["mariadb", "--no-defaults", "--skip-ssl", "-h127.0.0.1", f"-P{port}", "-BN"]
    finally:
        with suppress(ProcessLookupError):
            tunnel.kill()
        await tunnel.wait()


async def test_the_database_is_reached_through_a_tunnel(gateway: GatewayNode):
    password = (await gateway.ssh("wp config get DB_PASSWORD")).out.decode().strip()
    async with tunnel_to_database(gateway) as client:
        user = gateway.site.environment
        query = ["-e", f"select option_value from {user}.wp_options where option_name = 'blogname'"]
        done = await run([*client, f"-u{user}", f"-p{password}", *query])
        assert done.out == b"A Site\n", done.err
        # The gateway's own user is nobody in the database, and neither is root from here.
        for stranger in ("root", "mysql", "", "nobody", str(GATEWAY_UID)):
            assert (await run([*client, f"-u{stranger}", "-e", "select 1"])).code == 1


async def test_people_have_a_password_for_the_database_which_stays_when_the_site_gets_other_data(
    gateway: GatewayNode,
):
    site, node = gateway.site, gateway.node
    people = [f"-u{people_account(EnvironmentId(site.environment))}", "-ppassword-for-people"]

    async def read_title() -> str | None:
        """Through a tunnel; None while the user does not exist or has no rights."""
        async with tunnel_to_database(gateway) as client:
            query = f"select option_value from {site.schema}.wp_options where option_name = 'blogname'"
            done = await run([*client, *people, "-e", query])
        return done.out.decode().strip() or None

    assert await read_title() is None
    gateway.admit(database="password-for-people")
    try:
        assert await until(read_title) == "A Site"
        before, dataset = site.dataset, await node.prepare(site)
        await node.switch(site, dataset)
        site.query("update {schema}.wp_options set option_value = 'New' where option_name = 'blogname'")
        assert await until(read_title) == "New"
        assert (await site.get("/?nocache=people")).status_code == 200
        await node.runtime.datasets.discard(site.assignment, DiscardDataset("cms", dataset))
        site.dataset = before
        assert await until(read_title) == "A Site"
        assert (await gateway.ssh("wp option get blogname")).out == b"A Site\n"
    finally:
        gateway.admit()

    async def is_closed() -> bool | None:
        return await read_title() is None or None

    await until(is_closed)


async def test_a_tunnel_counts_in_the_connections_of_the_site(gateway: GatewayNode):
    """The container connects to the same socket, and its limit is for all together."""
    spare = [await asyncio.open_unix_connection(gateway.site.paths.database_socket) for _ in range(16)]
    try:
        async with connected(gateway) as connection:
            reader, _ = await connection.open_connection("db", 3306, encoding=None)
            async with time_limit(10):
                assert await reader.read(1) == b""
    finally:
        for _, writer in spare:
            writer.close()


async def test_all_sessions_of_a_site_have_its_limits_together(gateway: GatewayNode):
    """Each of them could use as much alone."""
    megabytes = LIMITS["memory_mb"] * 3 // 5
    fill = f"php -d memory_limit=-1 -r '$x = str_repeat(1, {megabytes} << 20); echo 1; sleep(4);'"
    async with connected(gateway) as connection:
        done = await asyncio.gather(*(connection.run(fill) for _ in range(3)))
    assert any(each.exit_status != 0 for each in done), done
    assert any("memory" in str(each.stderr) for each in done), done
    sleeps = LIMITS["processes"] // 2
    fork = f"for i in $(seq {sleeps}); do sleep 4 & done; wait"
    async with connected(gateway) as connection:
        done = await asyncio.gather(*(connection.run(fork) for _ in range(3)))
    assert any("fork" in str(each.stderr) for each in done), done
    await gateway.no_session_is_left()


async def test_a_session_does_not_touch_the_configuration_of_the_site(gateway: GatewayNode):
    """It may have begun with an older one."""
    memory = gateway.site.paths.memory
    await gateway.no_session_is_left()
    assert (await gateway.site.get("/")).status_code == 200
    before = {path.name: path.stat().st_ino for path in memory.iterdir()}
    during = await gateway.ssh("cat /etc/stead/wp-config.php")
    await gateway.no_session_is_left()
    assert during.out == (memory / "wp-config.php").read_bytes()

    async def removed() -> bool | None:
        return {path.name: path.stat().st_ino for path in memory.iterdir()} == before or None

    await until(removed)


async def test_a_sleeping_site_wakes(gateway: GatewayNode):
    await gateway.site.hosted.sleep()
    assert (await gateway.ssh("true")).code == 0

    async def awake() -> bool | None:
        return gateway.site.hosted.state == "awake" or None

    await until(awake)


async def test_a_session_ends_with_its_key(gateway: GatewayNode):
    try:
        client = await asyncio.create_subprocess_exec(
            *gateway.ssh_argv("sleep 86301 & echo begun; sleep 86302"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert client.stdout is not None
        async with time_limit(30):
            assert await client.stdout.readline() == b"begun\n"
        assert gateway.containers()
        gateway.shut_out()
        async with time_limit(10):
            _, err = await client.communicate()
        assert client.returncode == 1
        assert b"not admitted" in err, err
        assert not gateway.containers()
        assert "Permission denied" in (await gateway.ssh("true")).err
    finally:
        gateway.admit()
    assert (await gateway.ssh("true")).code == 0


async def test_access_for_files_only_transfers_files(gateway: GatewayNode, tmp_path: Path):
    key = make_key(gateway.home, "files")
    gateway.admit(gateway.key.access(), key.access(commands=False))
    (tmp_path / "a").write_text("a")
    assert (await gateway.sftp(f"put {tmp_path}/a wp-content/uploads/a", key=key)).code == 0
    shell = gateway.remote_shell().replace(str(gateway.key.file), str(key.file))
    target = f"{gateway.user}@127.0.0.1:wp-content/uploads/b"
    assert (done := await run(["rsync", "-e", shell, tmp_path / "a", target])).code == 0, done.err
    for words in (
        [],
        ["id"],
        ["rsync --server; id"],
        ["scp -t $(id)x -S id /tmp"],
        ["rsync --server --daemon ."],
    ):
        done = await gateway.ssh(*words, key=key, stdin=b"id\n")
        assert done.code != 0
        assert b"uid=" not in done.out
    # A password is also for files only.
    options = [word for word in gateway.options() if "BatchMode" not in word and "Identit" not in word]
    options = [word for word in options if word != "-o"]
    options = ["-F", "none", *(f"-o{word}" for word in options[2:])]
    askpass = tmp_path / "askpass"
    askpass.write_text(f"#!/bin/sh\necho {PASSWORD}\n")
    askpass.chmod(0o755)
    for words, code in ((["-s", "sftp"], 0), (["id"], 1)):
        argv = ["env", f"SSH_ASKPASS={askpass}", "SSH_ASKPASS_REQUIRE=force", "ssh", *options]
        argv += ["-o", "PubkeyAuthentication=no", "-p", str(gateway.port)]
        done = await run([*argv, *words[:-1], f"{gateway.user}@127.0.0.1", words[-1]])
        assert done.code == code, done.err


async def test_a_client_that_is_killed_leaves_no_process(gateway: GatewayNode):
    client = await asyncio.create_subprocess_exec(
        *gateway.ssh_argv("echo begun; sleep 86303"),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.PIPE,
    )
    assert client.stdout is not None
    async with time_limit(30):
        await client.stdout.readline()
    client.kill()
    await client.wait()
    await gateway.no_session_is_left()


async def test_a_suspended_site_has_no_sessions(gateway: GatewayNode):
    client = await asyncio.create_subprocess_exec(
        *gateway.ssh_argv("echo begun; sleep 86304"),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.PIPE,
    )
    assert client.stdout is not None
    async with time_limit(30):
        await client.stdout.readline()
    runtime = gateway.node.runtime
    await runtime.suspend_environment(gateway.site.assignment, SuspendEnvironment("cms"))
    try:
        assert not gateway.containers()
        async with time_limit(10):
            await client.wait()
        assert "suspended" in (await gateway.ssh("true")).err
    finally:
        await gateway.node.ensure(gateway.site)


async def test_a_killed_gateway_leaves_no_process_and_the_next_one_has_the_same_key(gateway: GatewayNode):
    client = await asyncio.create_subprocess_exec(
        *gateway.ssh_argv("echo begun; sleep 86305"),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.PIPE,
    )
    assert client.stdout is not None
    async with time_limit(30):
        await client.stdout.readline()
    gateway.process.kill()
    await gateway.process.wait()
    await gateway.no_session_is_left()
    async with time_limit(10):
        assert await client.wait() == 255
    gateway.process = await start_gateway(gateway.node.data, gateway.port)
    await wait_until_it_listens(gateway.port)
    # The client knows the key, and accepts no other one.
    assert (await gateway.ssh("true")).code == 0


async def test_the_log_says_who_was_where_and_not_what_was_run(gateway: GatewayNode):
    with capture_logs() as logged:
        await gateway.ssh("true secret-argument")
        await gateway.no_session_is_left()
    events = {each["event"]: each for each in logged}
    assert {"ssh.entered", "ssh.program_started", "ssh.program_ended"} <= set(events)
    for name in ("ssh.entered", "ssh.program_started", "ssh.program_ended"):
        assert events[name]["environment"] == gateway.site.environment
        assert events[name]["account"] == "acct_1"
        assert events[name]["address"].startswith("127.1.")
    assert "secret-argument" not in str(logged)
    session, admission, entered = gateway.reports[-1]
    assert (session, admission.account) == (events["ssh.entered"]["session"], "acct_1")
    assert entered.client.startswith("SSH-2.0-OpenSSH")


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _set_size(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
