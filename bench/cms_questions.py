"""How long the API waits for the answer of a WordPress site: over NATS, through the node and PHP."""

import asyncio
import os
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import msgspec
import nats
from nats.aio.msg import Msg

from bench.cms import require_images
from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.control.engines.nats import Nats
from stead.control.engines.nats_questions import Questions
from stead.dev.engines.nats import Nats as NatsEngine
from stead.dev.running_stack import run_stack
from stead.node.drivers.driver_set import DriverSet
from stead.node.questions import Questions as NodeQuestions
from stead.node.wordpress import fastcgi_client
from stead.node.wordpress.fastcgi_client import platform_parameters
from stead.node.wordpress.site_questions import SCRIPT
from stead.protocol import subjects
from stead.protocol.questions import encode, read_question
from stead.protocol.subjects import Program
from tests.node.wordpress.wordpress_node import Site, start_wordpress_node

NODE, ROUNDS, SECONDS = "bench", 60, 60.0
SITES = int(os.environ.get("STEAD_BENCH_SITES", "50"))
QUESTIONS = {"components.list": b"{}", "content.get": b'{"id": 1}'}


async def measure_answers(_: Bench) -> Result:
    require_images()
    with tempfile.TemporaryDirectory() as home:
        async with run_stack(Path(home), [NatsEngine]) as stack, start_wordpress_node() as node:
            site = await node.create()
            login = stack[NatsEngine].login(Program.API)
            api = Nats(login.url, user=login.user, password=login.password, program=Program.API)
            operator = stack[NatsEngine].login(Program.OPERATOR)
            client = await nats.connect(operator.url, user=operator.user, password=operator.password)
            drivers = DriverSet([node.runtime])
            answering = NodeQuestions(NODE, None, {"live": drivers, "simulator": drivers})  # type: ignore[arg-type]

            async def receive(message: Msg) -> None:
                question = read_question(message.data)
                subject = subjects.reply(NODE, question.process, question.id)

                async def answer() -> None:
                    await client.publish(subject, encode(await answering.answer(question)))

                tasks.add(task := asyncio.create_task(answer()))
                task.add_done_callback(tasks.discard)

            tasks: set[asyncio.Task[None]] = set()
            await client.subscribe(subjects.question(NODE), cb=receive)
            api.start()
            await api.ready()
            asking = Questions(api)
            details, slowest, ratio = [], 0.0, 0.0
            for kind, body in QUESTIONS.items():
                ours = await _time(lambda kind=kind, body=body: _ask(asking, site, kind, body))  # type: ignore[misc]
                bare = await _time(lambda kind=kind, body=body: _ask_php(site, kind, body))  # type: ignore[misc]
                slowest, ratio = max(slowest, median(ours)), max(ratio, median(ours) / median(bare))
                details.append(f"{kind}: {spread(ours)} ms; the same PHP without our path {spread(bare)} ms")
            details.append(f"ratio to the same PHP: {ratio:.2f}, goal 1.5")
            others = [site, *[await node.create() for _ in range(SITES - 1)]]
            began = time.perf_counter()
            await asyncio.gather(*(_ask(asking, each, "components.list", b"{}") for each in others))
            took = time.perf_counter() - began
            details.append(f"{len(others)} sites at once: {took:.1f} s")
            await api.stop()
            await client.close()
    return Result(slowest, 120, details)


async def _time(ask: Callable[[], Awaitable[None]]) -> list[float]:
    await ask()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await ask()
        times.append((time.perf_counter() - began) * 1000)
    return times


async def _ask(asking: Questions, site: Site, kind: str, body: bytes) -> None:
    environment = site.environment
    answer = await asking.ask(NODE, environment, "live", kind, body, SECONDS, owner=environment)
    if answer.code:
        raise CouldNotRun(f"{answer.code}: {answer.reason}")
    msgspec.json.decode(answer.body)


async def _ask_php(site: Site, kind: str, body: bytes) -> None:
    mark = secrets.token_hex(16)
    parameters = platform_parameters(SCRIPT, "/wp-json/", f"https://{site.host}") | {
        "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "STEAD_QUESTION": kind,
        "STEAD_ENVIRONMENT": site.environment,
        "STEAD_SECONDS": "60",
        "STEAD_MARK": mark,
    }
    if mark.encode() not in await fastcgi_client.request(site.paths.socket, parameters, body):
        raise CouldNotRun("PHP has not answered")
