"""Every engine answers a real request, and keeps data across a restart if it should."""

import asyncio
import ssl

import asyncpg
import dns.asyncresolver
import httpx
import nats.aio.client
import psutil
import pytest

from stead.dev import probes
from stead.dev.engines import CORE_ENGINES
from stead.dev.engines.dns import LoopbackDns
from stead.dev.engines.mariadb import MariaDb
from stead.dev.engines.nats import Nats
from stead.dev.engines.pebble import Pebble
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.engines.temporal import Temporal
from stead.dev.ports import PAIR_OFFSET
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.supervised_program import LOOPBACK
from stead.mariadb.connection import connect
from stead.protocol.subjects import Program
from tests.dev.s3 import request

WORKFLOW = {"workflowType": {"name": "nothing"}, "taskQueue": {"name": "nobody"}}


async def nats_client(stack: RunningStack, role: Program) -> nats.aio.client.Client:
    login = stack[Nats].login(role)
    return await nats.connect(
        login.url, user=login.user, password=login.password, inbox_prefix=login.inbox_prefix.encode()
    )


async def send_to_redis(stack: RunningStack, command: str) -> bytes:
    """Sends a command after the password, and returns the first line of its reply."""

    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(f"AUTH {stack[Redis].password}\r\n{command}\r\n".encode())
        assert await reader.readline() == b"+OK\r\n"
        return await reader.readline()

    return await probes.connect(stack[Redis].port, exchange)


async def start_workflow(stack: RunningStack, name: str) -> int:
    async with httpx.AsyncClient() as client:
        url = f"{stack[Temporal].http_url}/api/v1/namespaces/default/workflows/{name}"
        return (await client.post(url, json=WORKFLOW)).status_code


async def test_postgres_executes_statements_as_a_role_without_superuser_rights(stack: RunningStack) -> None:
    connection = await asyncpg.connect(stack.environment()["STEAD_DATABASE_URL"])
    try:
        assert await connection.fetchval("select current_user::text") == "stead"
        assert (
            await connection.fetchval("select rolsuper from pg_roles where rolname = current_user") is False
        )
        assert (
            await connection.fetchval("select pg_encoding_to_char(encoding) from pg_database limit 1")
            == "UTF8"
        )
    finally:
        await connection.close()


async def test_postgres_refuses_a_wrong_password(stack: RunningStack) -> None:
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(stack[Postgres].url.replace(stack.secrets["postgres"], "wrong"))


async def test_a_cloned_database_is_an_independent_copy_of_its_template(stack: RunningStack) -> None:
    template = await asyncpg.connect(await stack[Postgres].create_database("a template"))
    await template.execute("create table facts (fact text)")
    await template.close()

    clone = await asyncpg.connect(await stack[Postgres].clone_database("a template", 'clone "1"'))
    await clone.execute("insert into facts values ('only here')")

    other = await asyncpg.connect(await stack[Postgres].clone_database("a template", "clone 2"))
    assert await other.fetchval("select count(*) from facts") == 0
    await other.close()
    await clone.close()
    for name in ("a template", 'clone "1"', "clone 2"):
        await stack[Postgres].drop_database(name)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(stack[Postgres].database_url("a template"))


async def test_redis_runs_a_script(stack: RunningStack) -> None:
    assert await send_to_redis(stack, "EVAL \"return redis.call('incr', KEYS[1])\" 1 bucket") == b":1\r\n"


async def test_nats_keeps_a_message_in_a_stream(stack: RunningStack) -> None:
    operator = await nats_client(stack, Program.OPERATOR)
    jetstream = operator.jetstream()
    await jetstream.add_stream(name="KEPT", subjects=["kept.>"])
    await jetstream.publish("kept.one", b"message")
    assert (await jetstream.get_last_msg("KEPT", "kept.one")).data == b"message"
    await jetstream.delete_stream("KEPT")
    await operator.close()


async def test_temporal_accepts_a_workflow_once(stack: RunningStack) -> None:
    assert await start_workflow(stack, "job-1") == 200
    assert await start_workflow(stack, "job-1") == 409


async def test_redis_requires_its_password(stack: RunningStack) -> None:
    reply = await probes.read_line(stack[Redis].port, b"KEYS *\r\n")
    assert reply.startswith(b"-NOAUTH")


@pytest.mark.parametrize(
    ("port", "path"),
    [
        *(("s3_master", path) for path in ("/dir/status", "/dir/assign", "/col/delete?collection=x")),
        *(("s3_filer", path) for path in ("/", "/buckets/", "/etc/iam/identity.json")),
        *(("s3_volume", path) for path in ("/ui/index.html", "/1,01637037d6")),
    ],
)
async def test_seaweedfs_answers_nobody_behind_its_gateway(stack: RunningStack, port: str, path: str) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://{LOOPBACK}:{stack.ports[port]}{path}")
    assert answer.status_code in (401, 404), answer.text


@pytest.mark.parametrize("port", ["s3_master", "s3_filer", "s3_volume"])
async def test_the_grpc_ports_of_seaweedfs_require_a_certificate(stack: RunningStack, port: str) -> None:
    number, begin = stack.ports[port] + PAIR_OFFSET, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"

    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(begin)
        return await reader.readexactly(1)

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    assert await probes.connect(number, exchange) == b""
    assert await probes.connect(number, exchange, context) == b""
    home = stack[SeaweedFS].instance.home
    context.load_cert_chain(home / "grpc.crt", home / "grpc.key")
    assert await probes.connect(number, exchange, context) != b""


async def test_seaweedfs_keeps_an_object_and_refuses_a_bad_signature(stack: RunningStack) -> None:
    assert (await request(stack, "PUT", "/artifacts")).status_code == 200
    assert (await request(stack, "PUT", "/artifacts/one", b"content")).status_code == 200
    assert (await request(stack, "GET", "/artifacts/one")).content == b"content"
    assert (await request(stack, "GET", "/artifacts/one", secret="wrong")).status_code == 403
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{stack[SeaweedFS].endpoint}/artifacts/one")).status_code == 403


async def test_every_engine_reports_its_version(stack: RunningStack) -> None:
    for kind in CORE_ENGINES:
        assert (await stack[kind].read_version())[0].isdecimal()


async def test_every_engine_listens_only_on_loopback(stack: RunningStack) -> None:
    for kind in CORE_ENGINES:
        process = stack.child(kind).status.process
        assert process is not None
        listening = [
            it for it in psutil.Process(process.pid).net_connections("inet") if it.status == "LISTEN"
        ]
        assert {it.laddr.ip for it in listening} == {LOOPBACK}, kind.name


async def test_durable_engines_keep_data_and_ports_across_a_restart_and_redis_keeps_nothing(scratch) -> None:
    async with run_stack(scratch, durable=True) as stack:
        ports = dict(stack.ports)
        connection = await asyncpg.connect(stack[Postgres].url)
        await connection.execute("create table kept (fact text); insert into kept values ('yes')")
        await connection.close()
        assert (await request(stack, "PUT", "/artifacts")).status_code == 200
        assert (await request(stack, "PUT", "/artifacts/one", b"content")).status_code == 200
        assert await start_workflow(stack, "job-1") == 200
        assert await send_to_redis(stack, "SET mark 1") == b"+OK\r\n"
        operator = await nats_client(stack, Program.OPERATOR)
        await operator.jetstream().add_stream(name="KEPT", subjects=["kept.>"])
        await operator.jetstream().publish("kept.one", b"message")
        await operator.close()

    async with run_stack(scratch, durable=True) as stack:
        assert dict(stack.ports) == ports
        connection = await asyncpg.connect(stack[Postgres].url)
        assert await connection.fetchval("select fact from kept") == "yes"
        await connection.close()
        assert (await request(stack, "GET", "/artifacts/one")).content == b"content"
        assert await start_workflow(stack, "job-1") == 409
        assert await send_to_redis(stack, "GET mark") == b"$-1\r\n"
        operator = await nats_client(stack, Program.OPERATOR)
        assert (await operator.jetstream().get_last_msg("KEPT", "kept.one")).data == b"message"
        await operator.close()


async def test_a_stopped_or_killed_engine_can_be_started_again_on_its_port(scratch) -> None:
    async with run_stack(scratch, [Postgres, Redis]) as stack:
        for end in (stack.stop, stack.kill):
            for kind in (Postgres, Redis):
                assert await stack[kind].is_ready()
                await end(kind)
                assert not await stack[kind].is_ready()
                await stack.start(kind)
                assert await stack[kind].is_ready()


async def test_pebble_and_dns_answer_and_listen_only_on_loopback(scratch) -> None:
    async with run_stack(scratch, [Pebble, LoopbackDns]) as stack:
        trusted = ssl.create_default_context(cafile=str(stack[Pebble].server_certificate))
        async with httpx.AsyncClient(verify=trusted) as client:
            assert "newOrder" in (await client.get(stack[Pebble].directory)).json()
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = [LOOPBACK], stack[LoopbackDns].port
        found = await resolver.resolve("any.name.example.", "A")
        assert [record.address for record in found] == [LOOPBACK]
        for kind in (Pebble, LoopbackDns):
            assert (await stack[kind].read_version())[0].isdecimal()
            process = stack.child(kind).status.process
            assert process is not None
            listening = psutil.Process(process.pid).net_connections("inet")
            assert {it.laddr.ip for it in listening if it.status in ("LISTEN", "NONE")} == {LOOPBACK}


async def test_mariadb_answers_only_on_its_socket_and_keeps_rows_when_it_is_killed(scratch) -> None:
    psutil = pytest.importorskip("psutil")
    async with run_stack(scratch, [MariaDb], durable=True) as stack:
        socket = stack[MariaDb].socket
        assert (await stack[MariaDb].read_version())[0].isdecimal()
        process = stack.child(MariaDb).status.process
        assert process is not None
        assert psutil.Process(process.pid).net_connections("inet") == []
        with connect(socket) as connection:
            connection.execute("CREATE DATABASE kept")
            connection.execute("CREATE TABLE kept.t (id INT)")
            connection.execute("INSERT INTO kept.t VALUES (7)")
        await stack.kill(MariaDb)
        assert not await stack[MariaDb].is_ready()
        await stack.start(MariaDb)
        with connect(socket) as connection:
            assert connection.execute("SELECT id FROM kept.t") == [(7,)]


def test_the_core_engines_are_the_five_of_the_design() -> None:
    assert set(CORE_ENGINES) == {Postgres, Redis, Nats, Temporal, SeaweedFS}
