"""Two tenants with the same data: the identifiers of one lead the other nowhere, and leave nothing behind."""

from collections.abc import AsyncIterator
from itertools import combinations
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.features import all_operations, id_prefixes
from stead.control.http.examples import example
from stead.control.http.operations import BodyInput, Operation, QueryInput
from stead.control.invites.rules import InviteNotFound
from stead.control.keys.rules import PinnedResourceNotFound
from stead.control.projects.rules import VisibleTeamProject
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.errors import AccountNotFound
from stead.shared.ids import new_id
from stead.shared.roles import Role
from tests import own_database, teams
from tests.client import Client, code_of
from tests.contract.fields import text_fields
from tests.feature_samples import merged
from tests.matrix.asking import Asking, ask, body, path
from tests.matrix.dump import belongings, current_position, ids_of
from tests.matrix.rules import VISIBLE, flavours
from tests.matrix.world import Caller, Flavour, World, make_world
from tests.people import EVERY_SCOPE

settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous

OPERATIONS = all_operations()
WITH_PATH = [each for each in OPERATIONS if each.path_parameters]
NOT_FOUND = {
    *("team.not_found", "member.not_found", "invite.not_found", "environment.not_found"),
    *(not_found.code for _, not_found in VISIBLE.values()),
}
ELSEWHERE_IN_BODY = {
    "client_id": "204",
    "site_id": SiteNotFound.code,
    "default_team_id": "account.team_not_joined",
    "to_team_id": TeamNotFound.code,
    "team_id": TeamNotFound.code,
    "to_client_id": AccountNotFound.code,
    "token": InviteNotFound.code,
    **{name: code for name, (code, _) in merged("foreign_ids").items()},
}
"""What another tenant's identifier in this field is answered with. Any known account can be added."""

FOREIGN_IDS = {name: foreign for name, (_, foreign) in merged("foreign_ids").items() if foreign}
PINNABLE = {
    "team": VisibleTeam,
    "project": VisibleTeamProject,
    "site": VisibleSite,
    "environment": VisibleEnvironment,
}
PIN = "resource.id"
NAMES_NOTHING = {
    *("admin.username", "admin.email", "admin.password"),
    *("name", "email", "password", "billing_cc_email", "new_email", "new_password", "current_password"),
    *("scopes.*", "ip_allowlist.*", "description", "event_types.*", "region", "git_repo", "git_branch"),
    *("branch", "builder", "source_ref", "commit", "rules.*.pattern", "redirects.*.from", "redirects.*.to"),
    *("security.allowed_ips.*", "security.waf_partner_client_id", "security.waf_partner_secret_key"),
    "security.preview_password",
    # Headers of responses, and the paths of the site that they are for.
    *("ConfigurationChange.serving.headers.*.for", "ConfigurationChange.serving.headers.*.values.*"),
    # Compared with what the resource in the path has.
    *("confirm_domain", "NewPurge.url", "tag"),
    # Used only inside an environment of the site in the path.
    *("NewCommand.args.*", "NewMagicLink.user", "NewMagicLink.redirect_to"),
    # Keys are public, and people may have the same one in several places.
    *("keys.*.public_key", "keys.*.label"),
    # Names in the zone of the site in the path.
    *("NewRecord.name", "NewRecord.value", "RecordChange.value"),
    # Names in the DNS, which have owners of another kind: tests/control/domains.
    *("NewSite.domain", "hostname"),
    # Used only inside the site in the path.
    *(
        f"{shape}.{name}"
        for shape in (
            *("NewContent", "ContentChange"),
            *("ContentBatch.operations.*.new", "ContentBatch.operations.*.change"),
        )
        for name in (
            *("title", "content", "excerpt", "slug", "author", "parent", "featured_media"),
            *("terms.*.taxonomy", "terms.*.names.*", "meta.*.key", "meta.*.value"),
        )
    ),
    *("ContentBatch.operations.*.id", "NewExport.tables.*", "NewExport.query", "NewExport.params.*"),
    # Files are not accepted there: tests/control/content.
    *("ContentBatch.operations.*.new.source", "ContentBatch.operations.*.new.filename"),
    # `NewComponent.source` may be an upload: tests/control/components.
    *(f"NewComponent.{name}" for name in ("slug", "version", "source")),
    *("ComponentUpdate.version", "ComponentBatch.operations.*.slug", "ComponentBatch.operations.*.version"),
    *(
        f"{shape}.{name}"
        for shape in ("NewCmsUser", "CmsUserChange")
        for name in ("login", "role", "display_name", "first_name", "last_name")
    ),
    *("NewQuery.query", "NewQuery.params.*", "NewStatement.query", "NewStatement.params.*"),
    *("NewCron.hook", "NewCron.schedule", "NewCron.args.*", "CronChange.schedule", "CronChange.args.*"),
    # Of a function of the site that the body or the path names; other functions are found by slug there only.
    *("slug", "display_name", "route_path", "filename", "NewFunction.source", "NewFunctionBuild.source"),
    "compatibility_date",
    *("env.*", "secret_refs.*", "bindings.*.name", "bindings.*.config.namespace"),
    *("bindings.*.config.allow.*", "bindings.*.config.function"),
    # Shown to whoever sees the environment in the path.
    "NewLock.reason",
    "NewSecret.value",
    # Whoever knows the secret of a device may collect its key: tests/control/devices.
    *("NewDeviceAuthorization.machine_name", "DeviceTokenRequest.device_code"),
    # Sent only to the forge of the repository of the site in the path.
    "forge.token",
    # Not looked up until a delivery connects to it.
    *("NewEndpoint.url", "EndpointChange.url"),
}
"""Text in bodies, by name or by shape and name, that is not the name of somebody's resource."""
IN_QUERY = {"site_id", "actor", "before"}
NAMES_NOTHING_IN_PATH = {
    *("kind", "name", "trace_id"),
    # Looked up in the site that the path names, and nowhere else.
    *("component_id", "content_id", "user_id", "cron_id"),
    # A device that waits belongs to nobody: whoever is shown the code decides. tests/control/devices.
    "user_code",
}
NAMES_NOTHING_IN_QUERY = {
    *("resource_type", "event", "type", "category"),
    # Compared with what the site in the path has.
    *("CmsUserFilter.role", "CmsUserDeletion.reassign"),
    # Compared with what sites of the caller have: tests/control/sites/test_filters.py.
    *("SiteFilter.q", "SiteFilter.domain"),
    *("method", "status", "q", "bots", "severity", "container", "trace_id", "name"),
    *("service", "metric", "from", "to"),
}


@pytest.fixture
async def start(plane: ControlPlane) -> int:
    return await current_position(plane.database)


@pytest.fixture
async def ours(plane: ControlPlane) -> World:
    return await make_world(plane.database, Role.OWNER)


@pytest.fixture
async def theirs(plane: ControlPlane, start: int) -> World:
    """Made after the start, so that no older row can mention it."""
    return await make_world(plane.database, Role.OWNER)


@pytest.fixture
async def neighbours(plane: ControlPlane) -> World:
    """A third tenant, whose data a test may add to."""
    return await make_world(plane.database, Role.OWNER)


@pytest.fixture(autouse=True)
async def nothing_of_theirs_changes(
    plane: ControlPlane, ours: World, theirs: World, start: int
) -> AsyncIterator[None]:
    """Rows that speak of both may only say that we took one of their people in."""
    mine, before = ids_of(ours), await belongings(plane.database, theirs, start)
    assert before
    yield
    after = await belongings(plane.database, theirs, start)
    new = {(table, row) for table, row in after - before if not any(id_ in row for id_ in mine)}
    assert not before - after
    assert not new


def _callers(world: World) -> list[Caller]:
    return [
        Caller("session", world.subject.id, "session"),
        Caller("full key", world.subject.id, "api_key", tuple(EVERY_SCOPE)),
    ]


@pytest.mark.parametrize("operation", WITH_PATH, ids=lambda operation: operation.id)
async def test_an_identifier_of_another_tenant_in_the_path_is_not_found(
    operation: Operation, plane: ControlPlane, anonymous: Client, ours: World, theirs: World
):
    names = [name for name in operation.path_parameters if name not in NAMES_NOTHING_IN_PATH]
    swaps = [swap for size in range(1, len(names) + 1) for swap in combinations(names, size)]
    for flavour in flavours(operation):
        for caller in _callers(ours):
            asking = Asking(operation, ours, caller, flavour)
            foreign = path(Asking(operation, theirs, _callers(theirs)[0], flavour))
            for swap in swaps:
                answer = await ask(plane, anonymous, asking, path={name: foreign[name] for name in swap})
                assert code_of(answer) in NOT_FOUND, (swap, caller.name, flavour)
    async with plane.database.reading() as tx:
        told = "select count(*) from audit_events where actor_user_id = $1 or team_id = any($2)"
        assert await tx.value(told, ours.subject.id, [ours.team, theirs.team]) == 0


def _named_in(operation: Operation) -> list[str]:
    wanted = operation.input_of(BodyInput)
    if wanted is None:
        return []
    named = [name for name in example(wanted.shape) if name in ELSEWHERE_IN_BODY]
    return [name for name in named if f"{wanted.shape.__name__}.{name}" not in NAMES_NOTHING]


async def _unread_of(tx: Tx, world: World) -> str:
    """The id of a notification that was not read."""
    id_ = new_id("ntf")
    await tx.run(
        "insert into notifications (id, account_id, event_id, type, category, severity, bell, title, body,"
        " payload, in_app, created_at)"
        " values ($1, $2, $1, 'site.restarted', 'site', 'info', false, 'T', 'B', '{}', true, $3)",
        *(id_, world.subject.id, tx.now),
    )
    return id_


def _foreign(theirs: World, name: str, flavour: Flavour) -> Any:
    if name in FOREIGN_IDS:
        return FOREIGN_IDS[name](theirs, flavour)
    return {
        "client_id": theirs.newcomer.id,
        "site_id": theirs.loose_sites[flavour].id,
        "default_team_id": theirs.team,
        "to_team_id": theirs.team,
        "team_id": theirs.team,
    }[name]


@pytest.mark.parametrize(
    ("operation", "name"),
    [(each, name) for each in OPERATIONS for name in _named_in(each) if name != "token"],
    ids=lambda value: value if isinstance(value, str) else value.id,
)
async def test_an_identifier_of_another_tenant_in_the_body_is_refused(
    operation: Operation, name: str, plane: ControlPlane, anonymous: Client, ours: World, theirs: World
):
    flavour = flavours(operation)[0]
    asking = Asking(operation, ours, _callers(ours)[0], flavour)
    sent = {**(body(asking) or {}), name: _foreign(theirs, name, flavour)}
    assert code_of(await ask(plane, anonymous, asking, body=sent)) == ELSEWHERE_IN_BODY[name]


async def test_a_site_cannot_be_put_where_another_tenant_is(
    plane: ControlPlane, anonymous: Client, ours: World, theirs: World
):
    creating, giving = (
        next(each for each in OPERATIONS if each.id == id_) for id_ in ("sites.create", "sites.transfer")
    )
    for caller in _callers(ours):
        asking = Asking(creating, ours, caller, "personal")
        sent = {**(body(asking) or {}), "team_id": theirs.team}
        assert code_of(await ask(plane, anonymous, asking, body=sent)) == ELSEWHERE_IN_BODY["team_id"]
        asking = Asking(giving, ours, caller, "personal")
        sent = {"to_client_id": theirs.subject.id}
        assert code_of(await ask(plane, anonymous, asking, body=sent)) == ELSEWHERE_IN_BODY["to_client_id"]


@pytest.mark.parametrize("id_", ["functions.create", "functions.build"])
async def test_a_function_is_not_built_from_what_another_tenant_uploaded(
    id_: str, plane: ControlPlane, anonymous: Client, ours: World, theirs: World
):
    operation = next(each for each in OPERATIONS if each.id == id_)
    for flavour in flavours(operation):
        for caller in _callers(ours):
            asking = Asking(operation, ours, caller, flavour)
            sent = {**(body(asking) or {}), "upload_id": _foreign(theirs, "upload_id", flavour)}
            sent.pop("source", None)
            answer = await ask(plane, anonymous, asking, body=sent)
            assert code_of(answer) == ELSEWHERE_IN_BODY["upload_id"], answer.text
            assert answer.json()["error"]["param"] == "upload_id"


async def test_an_invite_to_somebody_of_another_tenant_is_not_found(
    plane: ControlPlane, anonymous: Client, ours: World, theirs: World
):
    async with plane.database.transaction() as tx:
        invited = theirs.newcomer.email
        _, token = await teams.insert_invite(tx, ours.team, ours.founder.id, email=invited)
        secret = await teams.insert_session(tx, ours.newcomer.id)
    answer = await anonymous.as_(secret).post("/v1/invites/accept", json={"token": token})
    assert code_of(answer) == ELSEWHERE_IN_BODY["token"]


@pytest.mark.parametrize("type_", PINNABLE)
async def test_a_key_cannot_be_pinned_to_what_another_tenant_has(
    type_: str, plane: ControlPlane, anonymous: Client, ours: World, theirs: World
):
    operation = next(each for each in OPERATIONS if each.id == "api_keys.create")
    thing = theirs.thing(PINNABLE[type_], "team")
    for caller in _callers(ours):
        asking = Asking(operation, ours, caller, "personal")
        sent = {**(body(asking) or {}), "resource": {"type": type_, "id": thing.id}}
        assert code_of(await ask(plane, anonymous, asking, body=sent)) == f"{type_}.not_found"
    pinned = Caller("pinned", ours.subject.id, "api_key", tuple(EVERY_SCOPE), pin=_pin(ours))
    asking = Asking(operation, ours, pinned, "personal")
    sent = {**(body(asking) or {}), "resource": {"type": type_, "id": thing.id}}
    assert code_of(await ask(plane, anonymous, asking, body=sent)) == PinnedResourceNotFound.code


def _pin(world: World) -> Any:
    return next(caller.pin for caller in world.callers(OPERATIONS[0]) if caller.pin)


async def test_a_notification_of_another_tenant_is_not_marked(
    plane: ControlPlane, anonymous: Client, ours: World, neighbours: World
):
    operation = next(each for each in OPERATIONS if each.id == "notifications.mark_read")
    async with plane.database.transaction() as tx:
        id_ = await _unread_of(tx, neighbours)
    for caller in _callers(ours):
        answer = await ask(plane, anonymous, Asking(operation, ours, caller, "personal"), body={"ids": [id_]})
        assert answer.json()["data"] == {"updated": 0}
    async with plane.database.reading() as tx:
        assert await tx.value("select read_at from notifications where id = $1", id_) is None


async def test_a_filter_by_what_another_tenant_has_finds_nothing_of_neighbours(
    plane: ControlPlane, anonymous: Client, ours: World, neighbours: World
):
    site = neighbours.thing(VisibleSite, "team")
    async with plane.database.transaction() as tx:
        await teams.insert_job(tx, site.id, neighbours.team)
        credential = await teams.insert_session(tx, neighbours.subject.id)
    changed = await anonymous.as_(credential).patch(f"/v1/teams/{neighbours.team}", json={"name": "Renamed"})
    assert changed.status_code == 200, changed.text
    async with plane.database.reading() as tx:
        told = await tx.value("select max(id) from audit_events where team_id = $1", neighbours.team)
    assert told is not None
    queries = [
        ("/v1/jobs", {"site_id": site.id}),
        ("/v1/account/audit", {"actor": neighbours.subject.id}),
        (f"/v1/teams/{ours.team}/audit", {"actor": neighbours.subject.id}),
        (f"/v1/teams/{ours.team}/audit", {"before": told}),
        (f"/v1/sites/{ours.thing(VisibleSite, 'team').id}/audit", {"actor": neighbours.subject.email}),
    ]
    for caller in _callers(ours):
        _, secret = await ours.credential(caller)
        for where, query in queries:
            answer = await anonymous.as_(secret).get(where, params=query)
            assert (answer.status_code, answer.json()["data"]) == (200, []), (where, query)


def _uncovered(shape: Any, covered: set[str]) -> set[str]:
    return {
        f"{shape.__name__}.{path}"
        for path in text_fields(shape)
        if path not in covered and f"{shape.__name__}.{path}" not in covered
    }


def test_every_text_that_can_name_a_resource_is_covered():
    """A new field is either sent with the identifier of another tenant, or it names nothing that has one."""
    bodies = [wanted.shape for each in OPERATIONS if (wanted := each.input_of(BodyInput))]
    named = {*ELSEWHERE_IN_BODY, PIN, *NAMES_NOTHING, "ids.*"}
    assert set().union(*(_uncovered(shape, named) for shape in bodies)) == set()
    queries = [query.type for each in OPERATIONS if (query := each.input_of(QueryInput))]
    known = IN_QUERY | NAMES_NOTHING_IN_QUERY
    assert set().union(*(_uncovered(shape, known) for shape in queries)) == set()
    named = {name for each in OPERATIONS for name in each.path_parameters}
    assert named - NAMES_NOTHING_IN_PATH <= id_prefixes().keys()


def test_every_field_that_names_a_resource_is_sent():
    """Some are optional, and only in the body of a test of their own."""
    sent = {name for each in OPERATIONS for name in _named_in(each)}
    assert sent >= ELSEWHERE_IN_BODY.keys() - {"team_id", "to_client_id", "environment", "upload_id"}
