"""A node that answers questions about any environment, with the simulated WordPress. It does nothing else."""

import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
from nats.aio.msg import Msg

from stead.control.engines.postgres import Tx
from stead.node.drivers.driver import Driver, Handler
from stead.node.drivers.driver_set import DriverSet
from stead.node.drivers.simulated_cms import SimulatedCms
from stead.node.questions import Questions
from stead.protocol import subjects
from stead.protocol.questions import Answer, Question, encode, read_question
from tests.control.exec.samples import insert_wordpress_site
from tests.engines import engine_addresses
from tests.feature_samples import Values
from tests.people import Person

NODE = f"answering-{os.environ.get('PYTEST_XDIST_WORKER', 'master')}"


class AnsweringDriver(Driver):
    def __init__(self, home: Path) -> None:
        self.cms = SimulatedCms(home)

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return []

    async def answer(self, question: Question) -> bytes:
        return self.cms.answer(question)


@asynccontextmanager
async def answering_node() -> AsyncIterator[None]:
    with tempfile.TemporaryDirectory() as home:
        drivers = DriverSet([AnsweringDriver(Path(home))])
        questions = Questions(NODE, None, {"live": drivers, "simulator": drivers})  # type: ignore[arg-type]
        async with answering(NODE, questions.answer):
            yield


@asynccontextmanager
async def answering(
    node: str, answer: Callable[[Question], Awaitable[Answer]], *, under: str = ""
) -> AsyncIterator[None]:
    """A node that answers like this. `under` is the name that it publishes under, if not its own."""
    engines = engine_addresses()
    client = await nats.connect(engines.nats, user="operator", password=engines.nats_operator_password)

    async def receive(message: Msg) -> None:
        question = read_question(message.data)
        subject = subjects.reply(under or node, question.process, question.id)
        await client.publish(subject, encode(await answer(question)))

    await client.subscribe(subjects.question(node), cb=receive)
    await client.flush()
    try:
        yield
    finally:
        await client.close()


async def place_on_answering_node(tx: Tx, site: str, node: str = NODE) -> None:
    """All environments of the site. The node takes no sites of others."""
    await tx.run(
        "insert into nodes (id, region, capacity, version, draining, last_seen_at, created_at)"
        " values ($1, 'us-east', 0, '0.1.0', true, $2, $2) on conflict do nothing",
        *(node, tx.now),
    )
    await tx.run("update environments set node_id = $2 where site_id = $1", site, node)


async def answering_site(person: Person, _: Values) -> str:
    site = await insert_wordpress_site(person)
    async with person.transaction() as tx:
        await place_on_answering_node(tx, site)
    return site
