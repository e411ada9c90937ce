"""The API asks a node about one of its sites, and waits for the answer.

A question changes nothing on the node itself: it is answered by the site, or by its database. It is not
stored in a stream, because nobody waits for an old answer. The bodies are JSON that the node does not read.
What a site answers was written by customers; whoever asks checks it, and believes it about the site alone.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from stead.protocol.commands import DriverSetName
from stead.protocol.sign_ins import Identifier

MAX_QUESTION_BYTES = 768 << 10
MAX_ANSWER_BYTES = 768 << 10
"""NATS accepts messages of 1 MiB."""
MAX_FILE_BYTES = 32 << 20
MAX_SECONDS = 60.0
MAX_REASON = 500

# The codes of answers without a body.
NO_ENVIRONMENT = "environment.not_found"
SUSPENDED = "environment.suspended"
NODE_BUSY = "node.unavailable"
TOO_MANY = "site.questions_exceeded"
TIMEOUT = "site.timeout"
FAILED = "site.failed"
INVALID = "site.answer_invalid"
REFUSED = "site.refused"
"""The site itself refuses, for example because a value is wrong. Its reason is for the customer."""
NOT_FOUND = "site.not_found"
"""What the question names is not in the site."""
UNSUPPORTED = "question.unsupported"


class Question(Struct, frozen=True, omit_defaults=True):
    node: Identifier
    process: Identifier
    """The process that asks. The answer is published under its name."""
    id: Identifier
    """Random."""
    environment: Identifier
    driver: DriverSetName
    kind: Annotated[str, Meta(pattern=r"^[a-z_]{1,30}\.[a-z_]{1,30}\Z")]
    seconds: Annotated[float, Meta(gt=0, le=MAX_SECONDS)]
    """How long somebody waits for the answer."""
    body: Annotated[bytes, Meta(max_length=MAX_QUESTION_BYTES)] = b"{}"
    owner: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{0,100}\Z")] = ""
    """The team or account that owns the site: it cannot use what others need."""
    file: Annotated[str, Meta(max_length=4000)] = ""
    """The signed URL of a file that the site gets with the question."""


class Answer(Struct, frozen=True, omit_defaults=True):
    node: Identifier
    id: Identifier
    code: Annotated[str, Meta(max_length=64)] = ""
    """Why there is no body; empty if there is one."""
    reason: Annotated[str, Meta(max_length=MAX_REASON)] = ""
    body: Annotated[bytes, Meta(max_length=MAX_ANSWER_BYTES)] = b""


encode = msgspec.msgpack.encode
read_question = msgspec.msgpack.Decoder(Question).decode
read_answer = msgspec.msgpack.Decoder(Answer).decode
