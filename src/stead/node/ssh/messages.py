"""What the gateway and the agent say to each other. Each connection of an SSH client has a connection of its
own between the two, which ends with it.

| From the gateway | Answer of the agent |
|---|---|
| `Ask` | `Answer`; nothing is recorded, because the client has not proved that it has the key |
| `Enter` | `Entered` or `Refused`; the agent remembers who is there |
| `Start`, with descriptors | `Started` or `NotStarted`, and `Ended` when the program has ended |
| `Signal`, `Stop` | none |

The agent may send `Expelled` at any time: whoever entered may not be there any more.
"""

from typing import Literal

import msgspec

MAX_MESSAGE = 64 * 1024
MAX_COMMAND = 32 * 1024
MAX_DESCRIPTORS = 3

Kind = Literal["shell", "command", "transfer", "sftp", "database"]
"""A transfer is a command that only transfers files; no shell runs it."""


class Credential(msgspec.Struct, frozen=True):
    """A public key, in the format of the SSH protocol, or a password."""

    user: str
    key: bytes = b""
    password: str = ""


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    credential: Credential


class Enter(msgspec.Struct, frozen=True, tag="enter"):
    credential: Credential
    address: str
    client: str = ""
    """The name and version of the client's program."""


class Start(msgspec.Struct, frozen=True, tag="start"):
    """With three descriptors (stdin, stdout, stderr), or one of a terminal; none for the database."""

    channel: int
    kind: Kind
    command: str = ""
    terminal: str = ""
    """The type of the terminal, if there is one."""


class Signal(msgspec.Struct, frozen=True, tag="signal"):
    channel: int
    name: str


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """The client has closed the channel."""

    channel: int


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    admitted: bool


class Entered(msgspec.Struct, frozen=True, tag="entered"):
    session: str
    """Its name in the logs."""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    reason: str


class Started(msgspec.Struct, frozen=True, tag="started"):
    """For the database with a descriptor of the directory of its socket."""

    channel: int
    socket: str = ""


class NotStarted(msgspec.Struct, frozen=True, tag="not_started"):
    channel: int
    reason: str


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    channel: int
    code: int
    reason: str = ""
    """Why the platform has ended it; empty if it ended by itself."""


class Expelled(msgspec.Struct, frozen=True, tag="expelled"):
    reason: str


FromGateway = Ask | Enter | Start | Signal | Stop
FromAgent = Answer | Entered | Refused | Started | NotStarted | Ended | Expelled
