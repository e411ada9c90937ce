"""Every mutation, job status and status change publishes an event. The tests find them; no list is needed."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import jsonschema
import msgspec
import pytest

import stead.control
from stead.control.app import ControlPlane
from stead.control.builds import rules as build_rules
from stead.control.builds import service as builds
from stead.control.deployments import rules as deployment_rules
from stead.control.deployments import service as deployments
from stead.control.engines.postgres import Tx
from stead.control.environments import rules as environment_rules
from stead.control.environments import service as environments
from stead.control.environments.rules import EnvironmentStatus
from stead.control.features import FEATURES, all_operations, event_catalog, workflows
from stead.control.http.operations import Operation
from stead.control.http.responses import ErrorBody
from stead.control.jobs import queue
from stead.control.jobs import service as jobs
from stead.control.jobs.definition import Workflow
from stead.control.jobs.rules import JobStatus
from stead.control.nodes import service as nodes
from stead.control.outbox.event_pages import envelope_example, envelope_schema
from stead.control.outbox.event_types import CATEGORIES, EventCatalog, EventType
from stead.control.outbox.events import About, publish
from stead.control.sites import rules as site_rules
from stead.control.sites import store as sites
from stead.control.sites.events import SITE_RESTARTED
from stead.control.sites.rules import SiteStatus
from tests import teams
from tests.contract.walk import ask, request_of
from tests.feature_samples import merged
from tests.people import Person

CATALOG = event_catalog()
MUTATIONS = [each for each in all_operations() if each.method != "GET" and not each.requires.public]
SILENT = merged("silent_operations")


async def _published(tx: Tx, **about: str) -> list[tuple[str, dict[str, Any]]]:
    ((column, value),) = about.items()
    sql = f"select type, data from events where {column} = $1 order by written"
    return await tx.all(lambda type_, data: (type_, data), sql, value)


@pytest.mark.parametrize("operation", MUTATIONS, ids=lambda operation: operation.id)
async def test_a_mutation_publishes_an_event(operation: Operation, person: Person, plane: ControlPlane):
    values, options = await request_of(operation, person)
    async with plane.database.reading() as tx:
        last = await tx.value("select coalesce(max(written), 0) from events")
    response = await ask(person.session, operation, values, **options)
    assert response.status_code == operation.status, response.text
    owners = [person.id, *values.values()]
    async with plane.database.reading() as tx:
        published = await tx.all(
            str,
            "select type from events where written > $1 and (account_id = any($2) or team_id = any($2)"
            " or team_id in (select team_id from team_members where account_id = $3))",
            last,
            owners,
            person.id,
        )
    if operation.id in SILENT:
        assert published == [], (
            f"{operation.id} publishes an event: remove it from silent_operations of its samples"
        )
    else:
        assert published, (
            f"{operation.id} publishes no event: publish one, or add it to silent_operations of its samples"
        )


def test_only_existing_mutations_are_exempt():
    assert SILENT.keys() <= {each.id for each in MUTATIONS}


ERROR = ErrorBody(type="api_error", message="It did not work.", code="job.lost", doc_url="https://x.example/")


def _minimal_params(type_: type, env: str) -> Any:
    """Parameters of a job with only the required fields. `environment` must exist; other ids need not."""
    required = {each.name: each.type for each in msgspec.structs.fields(type_) if each.required}
    values = {
        name: env if name == "environment" else _minimal_value(msgspec.inspect.type_info(each))
        for name, each in required.items()
    }
    return msgspec.convert(values, type_)


def _minimal_value(type_: msgspec.inspect.Type) -> Any:
    if isinstance(type_, msgspec.inspect.StrType):
        return "unknown"
    if isinstance(type_, msgspec.inspect.LiteralType):
        return type_.values[0]
    if isinstance(type_, msgspec.inspect.BoolType):
        return False
    if isinstance(type_, msgspec.inspect.ListType):
        return []
    if isinstance(type_, msgspec.inspect.DictType):
        return {}
    assert isinstance(type_, msgspec.inspect.StructType), type_
    return {each.name: _minimal_value(each.type) for each in type_.fields if each.required}


@pytest.mark.parametrize("workflow", workflows().values(), ids=workflows())
async def test_every_status_of_every_kind_of_job_is_published(
    workflow: Workflow[Any], person: Person, plane: ControlPlane
):
    """Queued, started, and both ways to end."""
    kind = workflow.kind
    for error in (None, ERROR):
        async with plane.database.transaction() as tx:
            site = await teams.insert_site(tx, account=person.id)
            env = await teams.insert_environment(tx, site, branch="main")
            params = _minimal_params(kind.params, env)
            subject = jobs.Subject(site, person.id, env_id=env)
            job = await jobs.enqueue(tx, kind, params, subject, scope="sites:write")
            await queue.mark_running(tx, job.id)
            row = await queue.get(tx, job.id)
            assert row is not None
            assert await jobs.end(tx, workflow, row, error)
            published = [type_ for type_, _ in await _published(tx, job_id=job.id)]
        ending = "job.succeeded" if error is None else "job.failed"
        assert [type_ for type_ in published if type_.startswith("job.")] == [
            "job.queued",
            "job.started",
            ending,
        ]


def test_job_statuses_are_those_that_the_tests_cover():
    assert set(JobStatus.__args__) == {"queued", "running", "succeeded", "failed"}  # type: ignore[attr-defined]


def _changes(statuses: Mapping[Any, Collection[Any]]) -> list[tuple[str, str]]:
    """Every allowed change of a status machine."""
    return [(before, after) for before in statuses for after in sorted(statuses[before]) if before != after]


async def _move_site(tx: Tx, site: str, before: str, after: str) -> None:
    await sites.set_status(tx, site, after, after=(before,), reason="A reason.")  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after"), _changes(site_rules.NEXT_STATUSES))
async def test_every_status_change_of_a_site_is_published(
    before: SiteStatus, after: SiteStatus, person: Person, plane: ControlPlane
):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id, status=before)
        await _move_site(tx, site, before, after)
        ((type_, data),) = await _published(tx, site_id=site)
        assert (type_, data["previous"], data["status"]) == ("site.status_changed", before, after)
        await sites.set_status(tx, site, before, after=("provisioning",) if after != "provisioning" else ())
        assert len(await _published(tx, site_id=site)) == 1, "an unchanged status is not published"


async def _move_environment(tx: Tx, env: str, before: str, after: str) -> None:
    await environments.set_status(tx, env, after, after=(before,), reason="A reason.")  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after"), _changes(environment_rules.NEXT_STATUSES))
async def test_every_status_change_of_an_environment_is_published(
    before: EnvironmentStatus, after: EnvironmentStatus, person: Person, plane: ControlPlane
):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        env = await teams.insert_environment(tx, site, status=before)
        await _move_environment(tx, env, before, after)
        ((type_, data),) = await _published(tx, env_id=env)
        assert (type_, data["previous"], data["status"]) == ("env.status_changed", before, after)
        assert data["reason"] == "A reason."
        await _move_environment(tx, await teams.environment_of(tx, site), "running", "failed")
        assert len(await _published(tx, site_id=site)) == 1, "changes of production are published by the site"


async def _move_build(tx: Tx, build: str, before: str, after: str) -> None:
    assert await builds.set_status(tx, build, after, artifact="art_1", error="A reason.")  # type: ignore[arg-type]


async def _move_deployment(tx: Tx, deployment: str, before: str, after: str) -> None:
    assert await deployments.set_status(tx, deployment, after, reason="A reason.")  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after"), _changes(build_rules.NEXT_STATUSES))
async def test_every_status_change_of_a_build_is_published(
    before: str, after: str, person: Person, plane: ControlPlane
):
    expected = {"running": "build.started", "succeeded": "build.succeeded", "failed": "build.failed"}
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        build = await teams.insert_build(tx, site, await teams.environment_of(tx, site), status=before)
        await _move_build(tx, build, before, after)
        ((type_, data),) = await _published(tx, site_id=site)
        assert (type_, data["build_id"]) == (expected[after], build)
        assert not await builds.set_status(tx, build, "running"), "an ended build does not start again"
        assert len(await _published(tx, site_id=site)) == 1, "an unchanged status is not published"


@pytest.mark.parametrize("kind", ["deploy", "promote", "rollback"])
@pytest.mark.parametrize(("before", "after"), _changes(deployment_rules.NEXT_STATUSES))
async def test_every_status_change_of_a_deployment_is_published(
    before: str, after: str, kind: str, person: Person, plane: ControlPlane
):
    """Except for superseded deployments: the new deployment publishes that."""
    live = {"promote": "deploy.promoted", "rollback": "deploy.rolled_back"}.get(kind, "deploy.completed")
    expected = {"deploying": "deploy.started", "live": live, "failed": "deploy.failed"}
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        env, artifact = await teams.environment_of(tx, site), await teams.insert_artifact(tx, site)
        made = await teams.insert_deployment(tx, site, env, artifact, status=before, kind=kind)
        await _move_deployment(tx, made, before, after)
        seen = [(type_, data["deployment_id"]) for type_, data in await _published(tx, site_id=site)]
        assert seen == ([] if after == "superseded" else [(expected[after], made)])


STATUS_MACHINES: dict[str, Callable[..., Awaitable[None]]] = {
    "stead.control.sites.rules": _move_site,
    "stead.control.builds.rules": _move_build,
    "stead.control.deployments.rules": _move_deployment,
    "stead.control.environments.rules": _move_environment,
}
"""Status machines, and the function that performs their transitions."""


def test_every_status_machine_is_covered():
    """A status machine is a `NEXT_STATUSES` in the rules of a feature. Test a new one like those above."""
    found = set()
    for module in pkgutil.walk_packages(stead.control.__path__, "stead.control."):
        if module.name.endswith(".rules") and hasattr(importlib.import_module(module.name), "NEXT_STATUSES"):
            found.add(module.name)
    assert found == STATUS_MACHINES.keys()


def test_every_declared_event_type_is_listed_by_its_feature():
    for feature in FEATURES:
        module = f"stead.control.{feature.name}.events"
        found = importlib.import_module(module) if importlib.util.find_spec(module) else None
        declared = (
            {each.type for each in vars(found).values() if isinstance(each, EventType)} if found else set()
        )
        assert {each.type for each in feature.events} == declared, feature.name


def test_two_event_types_with_the_same_name_are_refused():
    with pytest.raises(TypeError, match=r"site\.restarted"):
        EventCatalog([SITE_RESTARTED, SITE_RESTARTED])


@pytest.mark.parametrize("event", CATALOG.values(), ids=CATALOG)
def test_every_event_type_is_complete(event: EventType):
    assert event.category in CATEGORIES
    assert event.data is not None, "every type declares its payload"
    assert event.title[0].isupper()
    assert not event.title.endswith(".")
    assert event.in_app or not event.email
    assert bool(event.text) == event.in_app
    assert event.type.count(".") == 1


@pytest.mark.parametrize("event", CATALOG.values(), ids=CATALOG)
def test_every_example_is_valid_also_with_additional_fields(event: EventType):
    schema, example = envelope_schema(event), envelope_example(event)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(example, schema)
    jsonschema.validate({**example, "new": 1, "data": {**example["data"], "another": 2}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**example, "type": "another.type"}, schema)


@pytest.mark.parametrize("data", [{}, {"domain": 1}, {"domain": "x", "password": "y"}], ids=str)
async def test_data_that_does_not_match_the_payload_is_not_published(
    data: dict[str, Any], plane: ControlPlane
):
    async with plane.database.transaction() as tx:
        with pytest.raises(msgspec.ValidationError):
            await publish(tx, SITE_RESTARTED, About(account_id="client_x"), **data)


async def _update_reachability(tx: Tx) -> tuple[set[str], set[str]]:
    """All batches: other tests have left sites behind."""
    lost, back = set[str](), set[str]()
    while True:
        more_lost, more_back = await nodes.update_reachability(tx)
        if not more_lost and not more_back:
            return lost, back
        lost.update(more_lost)
        back.update(more_back)


async def test_the_loss_and_return_of_a_node_are_published_to_the_owners_of_its_sites(
    person: Person, plane: ControlPlane
):
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        await tx.run(
            "insert into nodes (id, region, capacity, version, last_seen_at, created_at)"
            " values ($1, 'nowhere', 1, '1', $2, $2)",
            *(site, tx.now - teams.DAY),
        )
        await tx.run("update environments set node_id = $1 where site_id = $1", site)
        lost, _ = await _update_reachability(tx)
        assert site in lost
        await tx.run("update nodes set last_seen_at = $2 where id = $1", site, tx.now)
        _, back = await _update_reachability(tx)
        assert site in back
        published = await _published(tx, site_id=site)
    assert [(type_, data.get("status")) for type_, data in published] == [
        ("site.status_changed", "failed"),
        ("site.unreachable", None),
        ("site.status_changed", "running"),
        ("site.reachable", None),
    ]
