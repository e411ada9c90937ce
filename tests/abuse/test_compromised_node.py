"""An attacker has taken over one node: its NATS login and its private key. Nothing that the attacker sends
changes what other nodes do, and nothing that belongs to others can be read."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import nats.errors
import nats.js.errors
import pytest
from nats.aio.client import Client

from stead.control.jobs.presigning import deploy_key_context
from stead.control.sealing import Sealer
from stead.dev.engines.nats import Nats
from stead.dev.local_node import LOCAL_REGION
from stead.dev.stack import NODE_KEYS
from stead.protocol import subjects
from stead.protocol.commands import (
    Activity,
    Command,
    Heartbeat,
    OutputLine,
    Result,
    encode,
    read_order,
    result_kind,
)
from stead.protocol.edge_records import node_key
from stead.protocol.sealed_work import WorkUnreadable, key_from_text, open_work
from stead.protocol.sign_ins import SignIn, SignInRequest, read_sign_in
from stead.protocol.subjects import COMMANDS, EDGE_BUCKET, OUTPUT, REPORTS, Node, Program, bucket_stream
from stead.protocol.work.builds import Build, GitSource
from stead.shared.ids import new_id
from tests.faults.jobs.harness import Harness, everything
from tests.faults.jobs.programs import until
from tests.node.harness import connected

EVIL, STRANGER = "node-evil", "node-stranger"
REGION, OTHER_REGION = "eu-west", LOCAL_REGION
"""The region of the attacker's node, and that of the victim."""
CAPACITY = 7
EDGE_ADDRESS = "192.0.2.9:80"
HEARTBEAT = Heartbeat(EVIL, REGION, 100, 0, "0.1.0", edge_address=EDGE_ADDRESS)
REPOSITORY = "ssh://git@git.example.com/private/site.git"
CANARY = "canary-in-the-query-of-an-archive"


@dataclass
class Attack:
    """The installation, the attacker's connection, and that of the operator, for the truth."""

    harness: Harness
    evil: Client
    stranger: Client
    operator: Client

    @property
    def victim(self) -> str:
        return self.harness.node.id

    async def send_heartbeat(self, **claims: Any) -> None:
        """Returns when a worker has recorded it."""
        await self.harness.sql("update nodes set version = '' where id = $1", EVIL)
        heartbeat = encode(_with(HEARTBEAT, **claims))

        async def recorded() -> bool:
            await self.evil.publish(subjects.heartbeat(EVIL), heartbeat)
            found = await self.harness.sql("select from nodes where id = $1 and version <> ''", EVIL)
            return bool(found)

        await until(recorded, "the heartbeat is recorded")

    async def last_command(self, job: str) -> Command:
        """The command of the job that was sent to the victim last."""

        async def look() -> Command | None:
            with contextlib.suppress(nats.js.errors.NotFoundError):
                subject = subjects.command(self.victim, "command")
                message = await self.operator.jetstream().get_last_msg(COMMANDS, subject)
                order = read_order(message.data or b"")
                return order if isinstance(order, Command) and order.job == job else None
            return None

        return await until(look, "the command has been sent")

    async def request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        return await self.harness.ask(method, path, body)

    async def request_site(self, **more: Any) -> dict[str, Any]:
        domain = f"{new_id('d').removeprefix('d_')}.example.com"
        return await self.request("POST", "/v1/sites", {"domain": domain, "profile": "static", **more})

    async def end(self, job: dict[str, Any]) -> dict[str, Any]:
        await self.harness.ended(job["id"])
        return await self.harness.ask("GET", f"/v1/jobs/{job['id']}", status=200)

    async def read_output(self, job: str) -> str:
        return (await self.harness.client.get(f"/v1/jobs/{job}/stream")).text


def _with(heartbeat: Heartbeat, **claims: Any) -> Heartbeat:
    return msgspec.structs.replace(heartbeat, **claims)


@pytest.fixture(scope="module")
async def attack() -> AsyncIterator[Attack]:
    async with everything() as harness:
        stack = harness.stack
        for node in (EVIL, STRANGER):
            await stack.add_node(node)
        await stack.enrol_node(EVIL, REGION, builds=False, capacity=CAPACITY)
        async with (
            connected(stack, Node(EVIL)) as evil,
            connected(stack, Node(STRANGER)) as stranger,
            connected(stack, Program.OPERATOR) as operator,
        ):
            yield Attack(harness, evil, stranger, operator)


async def test_a_result_is_accepted_only_from_the_node_that_was_asked(attack: Attack) -> None:
    await attack.harness.node.program.stop()
    job = await attack.request_site()
    command = await attack.last_command(job["id"])
    honest = Result(attack.victim, command.job, command.step, command.epoch, "refused", "internal", "forged")
    kind = result_kind(command.job, command.step)
    for result in (honest, _rename(honest, EVIL)):
        await attack.evil.publish(subjects.report(EVIL, kind), encode(result))
        await _attempt_forbidden(attack.evil, subjects.report(attack.victim, kind), encode(result))
    # A reply of NATS can be directed to the subject of another node, but its content cannot be chosen.
    await attack.evil.publish(
        subjects.report(EVIL, "x"), encode(honest), reply=subjects.report(attack.victim, kind)
    )
    await attack.send_heartbeat()
    attack.harness.node.start()
    assert (await attack.end(job))["status"] == "succeeded"


async def test_output_is_shown_only_from_nodes_that_were_asked(attack: Attack) -> None:
    job = await attack.request_site()
    jetstream = attack.evil.jetstream()
    own = subjects.job_output(job["id"], Node(EVIL))
    await jetstream.publish(own, encode(OutputLine("forged line")))
    # The acknowledgement of this one becomes a message under the name of the victim.
    await attack.evil.publish(
        own, encode(OutputLine("forged line")), reply=subjects.job_output(job["id"], Node(attack.victim))
    )
    await attack.end(job)
    await jetstream.publish(own, encode(OutputLine("forged line")))
    shown = await attack.read_output(job["id"])
    assert "forged" not in shown
    assert "simulat" in shown
    assert "event: done" in shown


async def test_region_and_permission_to_build_come_from_the_enrolment(attack: Attack) -> None:
    await attack.send_heartbeat(region=OTHER_REGION, builders=("static",), capacity=100_000)
    [row] = await attack.harness.sql("select region, builders from nodes where id = $1", EVIL)
    assert (row["region"], row["builders"]) == (REGION, [])
    jetstream = attack.operator.jetstream()

    async def consumer() -> Any:
        with contextlib.suppress(nats.js.errors.NotFoundError):
            return await jetstream.consumer_info(bucket_stream(EDGE_BUCKET), EVIL)
        return None

    found = await until(consumer, "the node has its consumers")
    assert f".{REGION}." in found.config.filter_subject
    assert OTHER_REGION not in found.config.filter_subject


async def test_a_node_can_lower_its_capacity_but_not_raise_it(attack: Attack) -> None:
    for claimed, counted in ((2**40, CAPACITY), (3, 3), (-1, 0)):
        await attack.send_heartbeat(capacity=claimed)
        [row] = await attack.harness.sql("select capacity from nodes where id = $1", EVIL)
        assert row["capacity"] == counted


async def test_visitors_are_not_sent_to_an_address_that_a_node_names_later(attack: Attack) -> None:
    await attack.send_heartbeat()
    bucket = await attack.operator.jetstream().key_value(EDGE_BUCKET)

    async def announced() -> bytes | None:
        with contextlib.suppress(nats.js.errors.KeyNotFoundError):
            return (await bucket.get(node_key(REGION, EVIL))).value
        return None

    before = await until(announced, "the address of the edge is announced")
    assert EDGE_ADDRESS.encode() in before
    for claimed in ("192.0.2.66:80", "", "a host with spaces"):
        await attack.send_heartbeat(edge_address=claimed)
        [row] = await attack.harness.sql("select edge_address from nodes where id = $1", EVIL)
        assert row["edge_address"] == EDGE_ADDRESS
    # Nothing is announced for a heartbeat that changes nothing, so the worker has handled those before.
    await attack.send_heartbeat()
    assert await announced() == before


async def test_a_node_that_is_not_enrolled_gets_no_consumers_and_no_row(attack: Attack) -> None:
    for _ in range(3):
        unknown = _with(HEARTBEAT, node=STRANGER, builders=("static",), edge_address="192.0.2.1:80")
        await attack.stranger.publish(subjects.heartbeat(STRANGER), encode(unknown))
    await attack.stranger.flush()
    await attack.send_heartbeat()
    assert not await attack.harness.sql("select from nodes where id = $1", STRANGER)
    for stream in (COMMANDS, bucket_stream(EDGE_BUCKET)):
        with pytest.raises(nats.js.errors.NotFoundError):
            await attack.operator.jetstream().consumer_info(stream, STRANGER)


async def test_a_node_reports_no_visits_to_environments_of_others(attack: Attack) -> None:
    job = await attack.end(await attack.request_site())
    env = job["result"]["env_id"]
    await attack.evil.publish(subjects.activity(EVIL), encode(Activity(EVIL, {env: 4e9})))
    await attack.send_heartbeat()
    [row] = await attack.harness.sql("select last_active from environments where id = $1", env)
    assert row["last_active"] is None


async def test_a_node_spends_no_sign_in_links_of_others(attack: Attack) -> None:
    """The attacker even knows the token, for example from a screen."""
    harness = attack.harness
    job = await attack.end(await attack.request_site())
    site, env = job["resource"]["site_id"], job["result"]["env_id"]
    await harness.sql("update sites set profile = 'vanilla', runtime = 'cms' where id = $1", site)
    link = urlsplit((await harness.ask("POST", f"/v1/sites/{site}/magic-link", status=200))["url"])
    token_hash = sha256(link.fragment.encode()).digest()

    async def ask(client: Client, node: str, **claims: Any) -> SignIn:
        """What the worker answers."""
        wanted = SignInRequest(node, new_id("q"), env, link.hostname or "", token_hash)
        wanted = msgspec.structs.replace(wanted, **claims)
        answers = await client.subscribe(subjects.answer(node, wanted.id))
        try:
            await client.publish(subjects.sign_in(node), encode(wanted))
            return read_sign_in((await answers.next_msg(timeout=20)).data)
        finally:
            await answers.unsubscribe()

    loot = await attack.evil.subscribe(subjects.answers_to(attack.victim))
    assert await ask(attack.evil, EVIL) == SignIn()
    forged = encode(SignInRequest(attack.victim, "forged", env, link.hostname or "", token_hash))
    await attack.evil.publish(subjects.sign_in(EVIL), forged)
    await _attempt_forbidden(attack.evil, subjects.sign_in(attack.victim), forged)
    for malformed in (b"", b"{}", encode({"node": EVIL}), encode([1]), forged[:-1]):
        await attack.evil.publish(subjects.sign_in(EVIL), malformed)
    await attack.evil.flush()
    async with connected(harness.stack, Node(attack.victim)) as victim:
        waiting = await victim.subscribe(subjects.answer(attack.victim, "guessed"))
        await _attempt_forbidden(
            attack.evil, subjects.answer(attack.victim, "guessed"), encode(SignIn("admin", "/"))
        )
        assert await ask(attack.evil, EVIL) == SignIn()
        for claims in ({"host": "other.example.com"}, {"environment": new_id("env")}):
            assert await ask(victim, attack.victim, **claims) == SignIn()
        assert await ask(victim, attack.victim) == SignIn("admin", "/wp-admin/")
        assert await ask(victim, attack.victim) == SignIn()
        assert waiting.pending_msgs == loot.pending_msgs == 0
    await loot.unsubscribe()


async def test_a_forged_report_of_the_edge_delays_no_deployment(attack: Attack) -> None:
    attack.harness.speak_as("live")
    try:
        await attack.end(await attack.request_site())
        # The acknowledgement replaces the last report of the victim's edge.
        await attack.evil.publish(subjects.applied(EVIL), b"{}", reply=subjects.applied(attack.victim))
        await attack.evil.flush()
        job = await attack.end(await attack.request_site())
        assert job["status"] == "succeeded", job["error"]
    finally:
        attack.harness.speak_as("test")


async def test_a_node_can_read_neither_commands_nor_results_nor_output_of_others(attack: Attack) -> None:
    inbox = f"{subjects.inbox_prefix(Node(EVIL))}.loot"
    loot = await attack.evil.subscribe(inbox)
    stolen = (COMMANDS, REPORTS, OUTPUT, bucket_stream(EDGE_BUCKET))
    requests = [
        *(f"$JS.API.STREAM.MSG.GET.{stream}" for stream in stolen),
        *(f"$JS.API.DIRECT.GET.{stream}" for stream in stolen),
        *(f"$JS.API.CONSUMER.CREATE.{stream}" for stream in stolen),
        *(f"$JS.API.STREAM.INFO.{stream}" for stream in stolen),
        *(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{attack.victim}" for stream in stolen),
        *(f"$JS.API.CONSUMER.RESET.{stream}.{attack.victim}" for stream in stolen),
    ]
    for subject in requests:
        await _attempt_forbidden(attack.evil, subject, b'{"seq": 1}', reply=inbox)
    await attack.evil.flush()
    with pytest.raises(nats.errors.TimeoutError):
        await loot.next_msg(timeout=1)
    await loot.unsubscribe()


async def test_secrets_appear_in_no_stream_no_journal_and_no_log(attack: Attack) -> None:
    harness = attack.harness
    site = (await attack.end(await attack.request_site(git_repo=REPOSITORY)))["resource"]["site_id"]
    path = f"/v1/sites/{site}"
    await harness.ask("GET", f"{path}/branch-routes", status=200)
    [row] = await harness.sql("select deploy_private from git_connections where site_id = $1", site)
    sealer = Sealer.from_text(harness.stack.secrets["sealing_key"])
    deploy_key = sealer.open(row["deploy_private"], context=deploy_key_context(site))

    builds = f"{path}/environments/production/builds"
    from_git = await attack.request("POST", builds, {"builder": "static"})
    command = await attack.last_command(from_git["id"])
    archive = f"https://example.com/site.tar.gz?token={CANARY}"
    from_archive = await attack.request("POST", builds, {"builder": "static", "source": archive})
    for job in (from_git, from_archive):
        assert (await attack.end(job))["status"] == "succeeded"
    shown = await harness.ask("GET", f"{builds}/{from_archive['resource']['id']}", status=200)
    assert shown["source"] == "https://example.com/site.tar.gz"

    assert isinstance(command.work, Build)
    assert isinstance(command.work.source, GitSource)
    assert (command.work.source.key, command.work.layer_url) == ("", "")
    opened = _open(attack, command, attack.victim)
    assert isinstance(opened, Build)
    assert isinstance(opened.source, GitSource)
    assert opened.source.key.encode() == deploy_key
    with pytest.raises(WorkUnreadable):
        _open(attack, command, EVIL)

    secrets = [CANARY.encode(), b"X-Amz-Signature", *deploy_key.splitlines()[1:-1]]
    places = _written(attack, from_archive["id"])
    for place, content in places.items():
        assert not any(secret in content for secret in secrets), place


def _open(attack: Attack, command: Command, node: str) -> Any:
    private = key_from_text(attack.harness.stack.secrets.passwords(NODE_KEYS)[node])
    return open_work(
        command.work, command.sealed, private, node=command.node, job=command.job, step=command.step
    )


def _written(attack: Attack, job: str) -> dict[str, bytes]:
    """Everything that NATS, Temporal, the node and the programs have written to files."""
    stack = attack.harness.stack
    homes = [stack[Nats].instance.home / "store", stack.directory.home("temporal"), stack.directory.logs]
    files = [path for home in homes for path in home.rglob("*") if path.is_file()]
    files += attack.harness.node.data.glob("journal.sqlite*")
    found = {str(path): _read(path) for path in files}
    journal = b"".join(content for place, content in found.items() if "journal.sqlite" in place)
    stream = b"".join(content for place, content in found.items() if COMMANDS in place)
    assert job.encode() in journal, "this is not the journal of the node"
    assert job.encode() in stream, "this is not the stream of commands"
    return found


def _read(path: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def _rename(result: Result, node: str) -> Result:
    return msgspec.structs.replace(result, node=node)


async def _attempt_forbidden(client: Client, subject: str, data: bytes, reply: str = "") -> None:
    """NATS refuses it; the client learns of it later, through its error callback."""
    await client.publish(subject, data, reply=reply)
    await asyncio.sleep(0)
