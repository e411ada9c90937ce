"""The error of a failed job: its code is documented, and `doc_url` leads to the page of that code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import stead.node
from stead.control.app import ControlPlane
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.temporal_workflow import Failure
from stead.control.features import workflows
from stead.control.http.error_pages import pages
from stead.control.jobs.activities import Activities
from stead.control.nodes.gateway import Gateway
from stead.protocol.commands import OUTDATED
from stead.protocol.work.base import NodeWork
from stead.shared.errors import catalog
from stead.shared.wording import MAX_REASON
from tests.control.jobs.conftest import NewJob
from tests.control.site_driver import worker_context
from tests.people import Person

DOCS = "http://stead.test/docs"


async def _unheard(_: object) -> None:
    return


def _codes_of_nodes() -> Iterator[str]:
    """The codes with which a node refuses: of kinds of work, and the literals in its source."""
    kinds: list[type[NodeWork]] = [NodeWork, *NodeWork.__subclasses__()]
    for kind in kinds:
        yield kind.unsupported_code
        yield from (each.unsupported_code for each in kind.__subclasses__())
    yield OUTDATED
    for path in Path(*stead.node.__path__).rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                position = {"Refusal": 0, "StepEnd": 1}.get(call.func.id)
                if position is not None and len(call.args) > position:
                    argument = call.args[position]
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        yield argument.value


def test_every_code_of_a_node_is_documented() -> None:
    used, known = set(_codes_of_nodes()), {error.code for error in catalog()}
    assert {"runtime.unsupported", "deploy.unhealthy", "job.timeout"} <= used
    assert used <= known, f"without a page: {sorted(used - known)}"


@pytest.fixture
def activities(plane: ControlPlane) -> Activities:
    announcer = Announcer(plane.database, EdgeFeed(plane.nats), patience=1)
    return Activities(worker_context(plane), workflows(), Gateway(plane.nats, _unheard), announcer, DOCS)


@pytest.mark.parametrize(
    "code", ["runtime.unsupported", "node.outdated", "build.failed", "from.a.newer.node"]
)
async def test_the_doc_url_of_a_job_leads_to_the_page_of_its_code(
    person: Person, activities: Activities, new_job: NewJob, code: str
) -> None:
    kind = {"kind": "site.restart", "with": {}}
    job = await new_job(account=person.id, type="site.restart", params=kind)
    await activities.finish(job, Failure(code, "the node said why"))
    error = (await person.session.get(f"/v1/jobs/{job}")).json()["data"]["error"]
    assert error["doc_url"] == f"{DOCS}/errors/{error['type']}/{error['code']}"
    assert Path(error["type"], f"{error['code']}.md") in pages()
    assert error["message"] == "the node said why"


async def test_a_job_ends_whatever_the_reason_is(
    person: Person, activities: Activities, new_job: NewJob
) -> None:
    """A customer's program may have chosen it. A job that cannot end blocks all later ones of its site."""
    kind = {"kind": "site.restart", "with": {}}
    job = await new_job(account=person.id, type="site.restart", params=kind)
    await activities.finish(job, Failure("content.failed", "a\0b\ud800" + "c" * 700_000))
    shown = (await person.session.get(f"/v1/jobs/{job}")).json()["data"]
    assert shown["status"] == "failed"
    assert shown["error"]["message"].startswith("a\ufffdb\ufffdccc")
    assert len(shown["error"]["message"]) == MAX_REASON
