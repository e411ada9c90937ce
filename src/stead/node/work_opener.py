"""Opens the secrets of a command, in memory only, with the private key of this node."""

from collections.abc import Callable

from stead.node.drivers.driver import Refusal
from stead.node.outdated import explain_outdated
from stead.protocol.commands import OUTDATED, Command
from stead.protocol.sealed_work import SecretsUnknown, WorkUnreadable, open_work
from stead.protocol.work.base import tag_of
from stead.protocol.work.kinds import Work

CODE = "node.key_unknown"

OpenWork = Callable[[Command], Work]


def work_opener(private_key: bytes | None) -> OpenWork:
    """Returns a function that raises Refusal for secrets that were sealed to another key."""

    def open_(command: Command) -> Work:
        if not command.sealed:
            return command.work
        if private_key is None:
            raise Refusal(CODE, f"The node {command.node} has no private key.")
        try:
            return open_work(
                command.work,
                command.sealed,
                private_key,
                node=command.node,
                job=command.job,
                step=command.step,
            )
        except WorkUnreadable:
            raise Refusal(CODE, f"The node {command.node} was enrolled with another key.") from None
        except SecretsUnknown:
            raise Refusal(OUTDATED, explain_outdated(command.node, tag_of(type(command.work)))) from None

    return open_
