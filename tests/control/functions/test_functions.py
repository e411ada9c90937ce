"""Functions over the API: what is stored, what is refused, and what is queued."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.builds import service as builds
from stead.control.functions import rate_limits, service, store, workflows
from stead.control.functions.jobs import FunctionDeployment
from stead.control.functions.rules import MOST_FUNCTIONS
from stead.control.jobs.definition import NodeCommand
from stead.control.jobs.kinds import Job
from stead.control.secrets.rules import secret_id
from stead.protocol.commands import Activity
from stead.protocol.work.functions import EnsureFunction
from stead.shared.ids import new_id
from tests import teams
from tests.answering_node import place_on_answering_node
from tests.client import Client, code_of
from tests.people import Person
from tests.teams import OwnedBy

SOURCE = "export default { fetch: () => new Response('hello') };"


async def _site(plane: ControlPlane, person: Person, runtime: str = "wasm") -> str:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        profile = "git_managed" if runtime == "cms" else runtime
        await tx.run("update sites set runtime = $2, profile = $3 where id = $1", site, runtime, profile)
    return site


async def _create(client: Client, site: str, **more: Any) -> Any:
    wanted = {"site_id": site, "slug": "hello", "display_name": "Hello", **more}
    return await client.post("/v1/functions", json=wanted)


async def test_a_function_with_a_source_is_built(plane: ControlPlane, person: Person):
    answer = await _create(person.session, await _site(plane, person), source=SOURCE, env={"A": "b"})
    assert answer.status_code == 201, answer.text
    function = answer.json()["data"]
    assert function["build_status"] == "building"
    assert function["url"].endswith(".example.com/_fn/hello")
    assert (function["env"], function["limits"]["wall_ms"]) == ({"A": "b"}, 1000)
    job = (await person.session.get(f"/v1/jobs/{function['last_build_job_id']}")).json()["data"]
    assert (job["type"], job["status"]) == ("build.run", "queued")
    async with plane.database.reading() as tx:
        row = await tx.one(
            lambda *values: values,
            "select builder, function_id, inline, auto_deploy from builds where job_id = $1",
            job["id"],
        )
    assert row is not None
    inline = {"filename": "function.js", "content": SOURCE, "language": "javascript"}
    assert row == (
        "wasm",
        function["id"],
        {**inline, "compatibility_date": function["compatibility_date"]},
        True,
    )


async def test_a_function_without_a_source_cannot_be_built(plane: ControlPlane, person: Person):
    function = (await _create(person.session, await _site(plane, person))).json()["data"]
    assert (function["build_status"], function["last_build_job_id"]) == ("", None)
    answer = await person.session.post(f"/v1/functions/{function['id']}/build", json={})
    assert code_of(answer) == "function.source_missing"
    built = await person.session.post(f"/v1/functions/{function['id']}/build", json={"source": SOURCE})
    assert built.status_code == 202
    assert built.headers["location"] == f"/v1/jobs/{built.json()['data']['job_id']}"
    assert built.json()["data"]["status"] == "queued"


async def test_a_folder_is_built_from_an_upload_of_the_site_once(plane: ControlPlane, person: Person):
    site, other = await _site(plane, person), await _site(plane, person)
    async with plane.database.transaction() as tx:
        upload, elsewhere = await teams.insert_upload(tx, site), await teams.insert_upload(tx, other)
    refused = await _create(person.session, site, upload_id=elsewhere)
    assert (code_of(refused), refused.json()["error"]["param"]) == ("request.field_invalid", "upload_id")
    created = await _create(person.session, site, upload_id=upload, language="go")
    assert created.status_code == 201, created.text
    function = created.json()["data"]
    async with plane.database.reading() as tx:
        row = await tx.one(
            lambda *values: values,
            "select source, inline ->> 'filename', inline ->> 'content' from builds where job_id = $1",
            function["last_build_job_id"],
        )
    assert row == (upload, None, None)
    again = await person.session.post(f"/v1/functions/{function['id']}/build", json={})
    assert code_of(again) == "function.source_missing"


async def test_an_event_says_that_requests_are_refused_and_not_again_for_a_while(
    plane: ControlPlane, person: Person
):
    site, node = await _site(plane, person), new_id("node")
    async with plane.database.transaction() as tx:
        function = await teams.insert_function(tx, site)
        artifact = await teams.insert_function_artifact(tx, function)
        version = await teams.insert_function_version(tx, function, artifact)
        await place_on_answering_node(tx, site, node)

    async def report(reporter: str, moment: float) -> list[dict[str, Any]]:
        async with plane.database.transaction() as tx:
            await rate_limits.record(tx, Activity(reporter, {}, {version: moment}))
            sql = "select data from events where type = $2 and site_id = $1 order by id"
            return await tx.all(lambda data: dict(data), sql, site, "function.limited")

    moment = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
    assert await report("another-node", moment) == []
    for seconds, events in ((0, 1), (0, 1), (60, 1), (899, 1), (1000, 2), (1000, 2)):
        found = await report(node, moment + seconds)
        assert len(found) == events, seconds
    assert (found[0]["function_id"], found[0]["version_id"]) == (function, version)
    assert found[0]["requests_per_second"] == 100
    for impossible in (-1.0, 1e300, float("nan")):
        assert len(await report(node, impossible)) == 2
    # A node that invents moments causes no more events than others do.
    ahead = (datetime.now(UTC) + timedelta(days=1)).timestamp()
    assert [len(await report(node, ahead + 10_000 * number)) for number in range(3)] == [3, 3, 3]


@pytest.mark.parametrize("runtime", ["static", "cms"])
async def test_only_sites_of_functions_have_them(runtime: str, plane: ControlPlane, person: Person):
    answer = await _create(person.session, await _site(plane, person, runtime))
    assert (answer.status_code, code_of(answer)) == (409, "capability.unsupported")


async def test_a_site_of_somebody_else_is_not_found(plane: ControlPlane, person: Person, stranger: Person):
    theirs = await _site(plane, stranger)
    for site in (theirs, new_id("site")):
        assert code_of(await _create(person.session, site)) == "site.not_found"


@pytest.mark.parametrize(
    ("more", "code", "param"),
    [
        ({"language": "tinygo"}, "language.unsupported", "language"),
        ({"language": "swift"}, "language.unsupported", "language"),
        ({"language": "cobol"}, "request.field_invalid", "language"),
        ({"bindings": [{"kind": "cron", "name": "C"}]}, "binding.unsupported", "bindings.0.kind"),
        ({"bindings": [{"kind": "kv", "name": "A"}]}, "request.field_invalid", "bindings.0.config.namespace"),
        (
            {"bindings": [{"kind": "fetch", "name": "A", "config": {"allow": ["http://x"]}}]},
            "request.field_invalid",
            "bindings.0.config.allow",
        ),
        (
            {"bindings": [{"kind": "kv", "name": "A", "config": {"namespace": "a", "function": "b"}}]},
            "request.field_invalid",
            "bindings.0.config.function",
        ),
        (
            {"bindings": [{"kind": "service", "name": "A", "config": {"function": "hello"}}]},
            "request.field_invalid",
            "bindings.0.config.function",
        ),
        ({"env": {"A": "1"}, "secret_refs": ["A"]}, "request.field_invalid", "secret_refs"),
        ({"route_path": "api"}, "request.field_invalid", "route_path"),
        ({"route_path": "/a/../b"}, "request.field_invalid", "route_path"),
        ({"route_path": "/.well-known/acme-challenge/x"}, "request.field_invalid", "route_path"),
        ({"source": "ü" * 140_000}, "request.field_invalid", "source"),
        ({"filename": "../a.js"}, "request.field_invalid", "filename"),
        ({"compatibility_date": "2026-02-30"}, "request.field_invalid", "compatibility_date"),
        ({"compatibility_date": "2020-01-01"}, "request.field_invalid", "compatibility_date"),
        ({"compatibility_date": "2999-01-01"}, "request.field_invalid", "compatibility_date"),
        ({"upload_id": "upl_x"}, "request.field_invalid", "upload_id"),
        ({"upload_id": "upl_x", "source": SOURCE}, "request.field_invalid", "upload_id"),
        ({"limits": {"memory_mb": 1024}}, "request.field_invalid", "limits.memory_mb"),
    ],
)
async def test_what_cannot_be_a_function_is_refused(
    more: dict[str, Any], code: str, param: str, plane: ControlPlane, person: Person
):
    answer = await _create(person.session, await _site(plane, person), **more)
    assert (answer.status_code, code_of(answer), answer.json()["error"]["param"]) == (400, code, param)


async def test_slugs_and_routes_are_unique_in_a_site(plane: ControlPlane, person: Person):
    site, other = await _site(plane, person), await _site(plane, person)
    assert (await _create(person.session, site)).status_code == 201
    assert (await _create(person.session, other)).status_code == 201
    assert code_of(await _create(person.session, site)) == "function.slug_taken"
    taken = await _create(person.session, site, slug="second", route_path="/_fn/hello/")
    assert code_of(taken) == "function.route_taken"
    second = (await _create(person.session, site, slug="second", route_path="/api")).json()["data"]
    assert second["url"].endswith("/api")
    changed = await person.session.patch(f"/v1/functions/{second['id']}", json={"route_path": "/_fn/hello"})
    assert code_of(changed) == "function.route_taken"


async def test_a_change_replaces_only_what_it_names(plane: ControlPlane, person: Person):
    created = (await _create(person.session, await _site(plane, person), env={"A": "1"})).json()["data"]
    path = f"/v1/functions/{created['id']}"
    changed = (await person.session.patch(path, json={"limits": {"wall_ms": 50}})).json()["data"]
    assert (changed["limits"]["wall_ms"], changed["env"]) == (50, {"A": "1"})
    assert (await person.session.get(path)).json()["data"] == changed


async def test_a_site_has_a_limited_number_of_functions(plane: ControlPlane, person: Person):
    site = await _site(plane, person)
    async with plane.database.transaction() as tx:
        for _ in range(MOST_FUNCTIONS):
            await teams.insert_function(tx, site)
    answer = await _create(person.session, site)
    assert (answer.status_code, code_of(answer)) == (429, "quota.functions")


async def test_functions_that_wait_for_their_removal_are_limited(
    plane: ControlPlane, person: Person, monkeypatch: pytest.MonkeyPatch
):
    """Each is a job. The limit of production would need a hundred of them."""
    monkeypatch.setattr(service, "MOST_WITH_DELETED", 2)
    site = await _site(plane, person)
    for _ in range(2):
        created = (await _create(person.session, site)).json()["data"]
        assert (await person.session.delete(f"/v1/functions/{created['id']}")).status_code == 204
    refused = await _create(person.session, site)
    assert code_of(refused) == "quota.functions"
    async with plane.database.transaction() as tx:
        await service.remove(tx, created["id"])
    assert (await _create(person.session, site)).status_code == 201


async def test_the_settings_of_all_functions_of_a_site_are_limited(plane: ControlPlane, person: Person):
    """A node gets them in one message, and lists return them."""
    site = await _site(plane, person)
    large = {f"A{number}": "x" * 5000 for number in range(12)}
    hosts = [f"{'a' * 60}.{'b' * 60}.{'c' * 60}.{number}.example.com" for number in range(50)]
    bindings = [{"kind": "fetch", "name": f"B{number}", "config": {"allow": hosts}} for number in range(32)]
    refused = await _create(person.session, site, bindings=bindings)
    assert (code_of(refused), refused.json()["error"]["param"]) == ("request.field_invalid", "bindings")
    for number in range(4):
        assert (await _create(person.session, site, slug=f"f-{number}", env=large)).status_code == 201
    created = (await _create(person.session, site)).json()["data"]
    path = f"/v1/functions/{created['id']}"
    changed = await person.session.patch(path, json={"env": large})
    assert (code_of(changed), changed.json()["error"]["param"]) == ("request.field_invalid", "env")
    assert (await person.session.patch(path, json={"env": {"A": "1"}})).status_code == 200


@pytest.mark.parametrize("status", ["succeeded", "failed"])
async def test_the_source_of_a_build_is_not_kept_when_it_has_ended(
    status: Any, plane: ControlPlane, person: Person
):
    """Rows of builds are kept for ever. The function has its source."""
    site = await _site(plane, person)
    created = (await _create(person.session, site, source=SOURCE)).json()["data"]
    async with plane.database.transaction() as tx:
        artifact = await teams.insert_artifact(tx, site) if status == "succeeded" else None
        build = await tx.value("select id from builds where function_id = $1", created["id"])
        content = "select inline ->> 'content' from builds where id = $1"
        assert await builds.set_status(tx, build, "running")
        assert await tx.value(content, build) == SOURCE
        assert await builds.set_status(tx, build, status, artifact=artifact)
        assert await tx.value(content, build) is None
        assert await tx.value("select inline ->> 'language' from builds where id = $1", build) == "javascript"
    again = await person.session.post(f"/v1/functions/{created['id']}/build", json={})
    assert again.status_code == 202


async def test_versions_of_failed_deployments_are_forgotten(
    plane: ControlPlane, person: Person, monkeypatch: pytest.MonkeyPatch
):
    """They keep their artifacts. The limit of production would need twenty of them."""
    monkeypatch.setattr(store, "MOST_VERSIONS", 2)
    site = await _site(plane, person)
    async with plane.database.transaction() as tx:
        function = await teams.insert_function(tx, site)
        artifact = await teams.insert_function_artifact(tx, function)
        versions = [await teams.insert_function_version(tx, function, artifact) for _ in range(4)]
        work = FunctionDeployment(function, versions[-1])
        job = Job(new_id("job"), site, await teams.environment_of(tx, site), work, tx.now)
        await workflows.DEPLOY.failed(tx, job, "It could not be started.")
        left = await tx.all(
            str, "select id from function_versions where function_id = $1 order by id", function
        )
    assert left == versions[2:]


async def test_a_version_that_is_active_stays_so_while_it_is_deployed_again(
    plane: ControlPlane, person: Person
):
    """Its visitors keep it when it cannot be started with new settings, or the job is cancelled."""
    site = await _site(plane, person)
    async with plane.database.transaction() as tx:
        await place_on_answering_node(tx, site)
        function = await teams.insert_function(tx, site)
        artifact = await teams.insert_function_artifact(tx, function)
        earlier, active = [await teams.insert_function_version(tx, function, artifact) for _ in range(2)]
        await service.set_active(tx, function, active)
        prepare, environment = (
            workflows.ROLLBACK.steps["prepare"].command,
            await teams.environment_of(tx, site),
        )
        assert prepare is not None
        prepared = {}
        for version in (earlier, active):
            work = FunctionDeployment(function, version)
            command = await prepare(tx, Job(new_id("job"), site, environment, work, tx.now))
            assert isinstance(command, NodeCommand)
            assert isinstance(command.work, EnsureFunction)
            prepared[version] = command.work.active
    assert prepared == {earlier: False, active: True}


async def test_only_an_artifact_of_the_function_can_be_deployed(plane: ControlPlane, person: Person):
    site = await _site(plane, person)
    async with plane.database.transaction() as tx:
        mine, other = await teams.insert_function(tx, site), await teams.insert_function(tx, site)
        artifact = await teams.insert_function_artifact(tx, mine)
        of_other, of_site = (
            await teams.insert_function_artifact(tx, other),
            await teams.insert_artifact(tx, site),
        )
    for wrong in (of_other, of_site, new_id("art"), "art_x"):
        answer = await person.session.post(f"/v1/functions/{mine}/deploy", json={"artifact_id": wrong})
        assert code_of(answer) == "artifact.not_found"
    deployed = await person.session.post(f"/v1/functions/{mine}/deploy", json={"artifact_id": artifact})
    assert deployed.status_code == 202, deployed.text
    (version,) = (await person.session.get(f"/v1/functions/{mine}/versions")).json()["data"]
    assert (version["artifact_id"], version["active"]) == (artifact, False)
    answer = await person.session.post(f"/v1/functions/{other}/rollback", json={"version_id": version["id"]})
    assert code_of(answer) == "function.version_not_found"


async def test_a_deleted_function_is_gone_and_its_slug_free(plane: ControlPlane, person: Person):
    site = await _site(plane, person)
    created = (await _create(person.session, site)).json()["data"]
    assert (await person.session.delete(f"/v1/functions/{created['id']}")).status_code == 204
    assert code_of(await person.session.get(f"/v1/functions/{created['id']}")) == "function.not_found"
    assert (await person.session.get(f"/v1/sites/{site}/functions")).json()["data"] == []
    assert (await _create(person.session, site)).status_code == 201
    jobs = (await person.session.get("/v1/jobs", params={"site_id": site})).json()["data"]
    assert [job["type"] for job in jobs] == ["function.delete"]


async def test_functions_move_with_their_site(plane: ControlPlane, person: Person):
    site = await _site(plane, person)
    async with plane.database.transaction() as tx:
        function, team = await teams.insert_function(tx, site), await teams.insert_team(tx, person.id)
    answer = await person.session.post(f"/v1/sites/{site}/transfer", json={"to_team_id": team})
    assert answer.json()["data"] == {"site_id": site, "functions_transferred": 1}
    assert (await person.session.get(f"/v1/functions/{function}")).status_code == 200


async def test_a_function_gets_the_secrets_that_it_names_and_no_others(plane: ControlPlane, person: Person):
    site = await _site(plane, person)
    async with plane.database.transaction() as tx:
        env = await teams.environment_of(tx, site)
        function = await teams.insert_function(tx, site)
        artifact = await teams.insert_function_artifact(tx, function)
        version = await teams.insert_function_version(tx, function, artifact)
        await tx.run("update functions set secret_refs = '{TOKEN}' where id = $1", function)
    for name in ("TOKEN", "OTHER"):
        path = f"/v1/sites/{site}/environments/production/secrets/{name}"
        set_ = await person.session.put(path, json={"value": f"the value of {name}"})
        assert set_.status_code == 200, set_.text
    async with plane.database.transaction() as tx:
        found = await service.get_version(tx, function, version)
        work = await service.build_work(tx, await service.get(tx, function), found, active=True)
    assert [id_ for id_, _ in work.secrets] == [secret_id(env, "TOKEN")]
    assert b"the value of" not in repr(work).encode()


async def test_sites_of_teams_that_share_a_quota_share_a_node_as_one_tenant(
    plane: ControlPlane, person: Person
):
    """Otherwise an account would have a turn for each team that it founds."""
    async with plane.database.transaction() as tx:
        await tx.run("update accounts set plan = 'free' where id = $1", person.id)
        free, paying = [await teams.insert_team(tx, person.id, plan=plan) for plan in ("free", "pro")]
        await tx.run("update teams set founded_by = $2 where id = any($1)", [free, paying], person.id)
        owners: list[OwnedBy] = [{"account": person.id}, {"team": free}, {"team": paying}]
        tenants = []
        for owner in owners:
            site = await teams.insert_site(tx, **owner)
            function = await teams.insert_function(tx, site)
            artifact = await teams.insert_function_artifact(tx, function)
            version = await teams.insert_function_version(tx, function, artifact)
            found = await service.get_version(tx, function, version)
            work = await service.build_work(tx, await service.get(tx, function), found, active=True)
            tenants.append(work.tenant)
    assert tenants == [person.id, person.id, paying]
