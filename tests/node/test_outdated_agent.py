"""A control plane that is newer than the node: commands that the node does not understand are refused."""

import sqlite3
from contextlib import closing
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from stead.protocol.commands import Command, encode
from stead.protocol.sealed_work import _SUITE, VERSION, _context, public_key_of
from stead.protocol.work.hosting import EnsureEnvironment, RemoveEnvironment
from tests.node.harness import NodeHarness
from tests.node.test_agent import ENSURE, cancel, newer

PRIVATE_KEY = bytes(range(32))
BASE64_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

NEWER: dict[str, dict[str, Any]] = {
    "an unknown kind of work": {"work": {"type": "rewind_time", "hours": 3}},
    "an unknown field of the work": {"work": {"type": "ensure_environment", "runtime": "static", "php": "9"}},
    "an unknown field of the command": {"priority": "high"},
    "a missing field of the work": {"work": {"type": "ensure_environment"}},
    "an unknown runtime": {"work": {"type": "ensure_environment", "runtime": "drupal"}},
    "an unknown set of drivers": {"driver": "shadow"},
    "an unknown kind of order": {"type": "rehearse"},
}


def of_newer_version(command: Command, **changed: Any) -> bytes:
    """The command as a newer control plane would send it."""
    return msgspec.msgpack.encode(msgspec.msgpack.decode(encode(command)) | changed)


async def test_a_command_that_the_node_does_not_understand_is_refused(here: NodeHarness) -> None:
    here.start()
    for name, change in NEWER.items():
        order = here.command(ENSURE)
        await here.send(of_newer_version(order, **change))
        result = await here.result(order)
        assert (result.outcome, result.code) == ("refused", "node.outdated"), name
        assert result.reason is not None
        assert here.node.id in result.reason
        assert here.carried_out(order) == 0, name
        # It is answered again if it is sent again, and nothing is left to be redelivered.
        await here.send(of_newer_version(newer(order, 2), **change))
        assert (await here.result(newer(order, 2))).code == "node.outdated", name
        assert (await here.ask(cancel(order, 3))).outcome == "refused", name
    await here.until_acknowledged()
    assert (await here.ask(here.command(ENSURE))).outcome == "done"


async def test_a_field_with_its_default_is_understood_by_nodes_that_do_not_know_it(here: NodeHarness) -> None:
    """That is how commands can get new fields: they are sent only if they are used."""
    sent = msgspec.msgpack.decode(encode(here.command(EnsureEnvironment("static", release=None))))
    assert sent["work"] == {"type": "ensure_environment", "runtime": "static"}
    assert not {"sealed", "seconds"} & set(sent)


async def test_a_newer_attempt_at_a_running_step_gets_its_result(here: NodeHarness) -> None:
    """The control plane was updated while the step was running."""
    here.start(STEAD_SIMULATOR_SECONDS="2")
    order = here.command(ENSURE)
    await here.send(order)
    await here.under_way()
    await here.send(of_newer_version(newer(order, 2), priority="high"))
    assert (await here.result(newer(order, 2))).outcome == "done"
    assert here.carried_out(order) == 1


async def test_secrets_of_unknown_fields_are_refused(here: NodeHarness) -> None:
    here.start(STEAD_NODE_KEY=BASE64_KEY)

    command = here.command(ENSURE)
    # A secret is empty in the command, so only the sealed part tells that there is one more field.
    public = X25519PublicKey.from_public_bytes(public_key_of(PRIVATE_KEY))
    secrets = msgspec.msgpack.encode([(("license",), "secret")])
    sealed = VERSION + _SUITE.encrypt(secrets, public, _context(command.node, command.job, command.step))
    result = await here.ask(msgspec.structs.replace(command, sealed=sealed))
    assert (result.outcome, result.code) == ("refused", "node.outdated")


async def test_a_node_that_was_downgraded_refuses_what_it_was_doing(here: NodeHarness) -> None:
    here.start(STEAD_SIMULATOR_SECONDS="60")
    readable, unreadable = here.command(ENSURE), here.command(RemoveEnvironment(), environment="env_2")
    for order in (readable, unreadable):
        await here.send(order)
        await here.journaled(order)
    await here.kill()
    with closing(sqlite3.connect(here.data / "journal.sqlite", isolation_level=None)) as journal:
        journal.execute(
            "update steps set command = ? where job = ?",
            (of_newer_version(unreadable, **NEWER["an unknown kind of work"]), unreadable.job),
        )
    here.start()
    assert (await here.result(unreadable)).code == "node.outdated"
    assert (await here.result(readable)).outcome == "done"
