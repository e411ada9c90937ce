"""Functions ask the control plane for their state: keys and values, locks and counters.

Neither message is stored in a stream. A question without an answer has failed, and nobody knows whether it
was carried out: so functions use revisions and fencing tokens.
"""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

Identifier = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,100}\Z")]
StateOperation = Literal[
    "kv.get",
    "kv.put",
    "kv.delete",
    "kv.list",
    "coord.lock",
    "coord.unlock",
    "coord.increment",
    "coord.get",
]


ANSWER_SECONDS = 5.0
"""How long a node waits for an answer."""
QUESTIONS_PER_SECOND = 1000.0
"""Of one node. A worker drops more, so nodes ask less often."""
STATE_OPERATIONS: dict[str, StateOperation] = {name: name for name in get_args(StateOperation)}


class StateQuestion(Struct, frozen=True):
    node: Identifier
    id: Identifier
    """Random. The answer is published under it."""
    site: Identifier
    environment: Identifier
    function: Identifier
    namespace: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,62}\Z")]
    op: StateOperation
    arg: dict[str, Any]


encode = msgspec.json.encode
read_question = msgspec.json.Decoder(StateQuestion).decode
