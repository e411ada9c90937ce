"""Pushes of each forge: which environment is built, and that only the newest push is."""

import asyncio
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.git import deliveries, push_builds
from tests import teams
from tests.control.git import forges
from tests.control.git.conftest import ConnectedSite, commit
from tests.control.git.forges import ZEROS, gitea, github, github_push, gitlab, gitlab_push

FORGES = {
    "github": lambda site, ref, after: github(github_push(ref, after, site.repository), site.secret),
    "github, as a form": lambda site, ref, after: github(
        github_push(ref, after, site.repository), site.secret, form=True
    ),
    "gitlab": lambda site, ref, after: gitlab(gitlab_push(ref, after, site.repository), site.secret),
    "gitea": lambda site, ref, after: gitea(github_push(ref, after, site.repository), site.secret),
}


@pytest.mark.parametrize("forge_name", FORGES)
async def test_a_push_is_built_at_its_commit_and_deployed(site: ConnectedSite, forge_name: str):
    answered = await site.post(FORGES[forge_name](site, "refs/heads/main", commit(7)))
    assert answered.status_code == 202, answered.text
    ((env, status, ref, built),) = await site.builds()
    assert (env, status, ref, built) == (site.env, "queued", "main", commit(7))
    job = await site.value("select job_id from builds where site_id = $1", site.id)
    assert answered.json()["data"] == {
        "decisions": [{"branch": "main", "target": "live", "job_id": job, "env_id": site.env}]
    }
    assert await site.value("select auto_deploy from builds where site_id = $1", site.id)
    assert await site.events("git.push_received") == [
        {
            "type": "git.push_received",
            "domain": await site.value("select domain from sites where id = $1", site.id),
            "branch": "main",
            "commit": commit(7),
            "target": "live",
        }
    ]


@pytest.mark.parametrize("forge_name", FORGES)
async def test_a_sha_256_commit_is_built(site: ConnectedSite, forge_name: str):
    await site.post(FORGES[forge_name](site, "refs/heads/main", "c" * 64))
    ((_, _, _, built),) = await site.builds()
    assert built == "c" * 64


@pytest.mark.parametrize("forge_name", FORGES)
async def test_a_push_to_a_branch_without_a_route_is_ignored(site: ConnectedSite, forge_name: str):
    answered = await site.post(FORGES[forge_name](site, "refs/heads/other", commit(7)))
    (decision,) = answered.json()["data"]["decisions"]
    assert (answered.status_code, decision["target"]) == (202, "ignore")
    assert await site.builds() == []


async def test_a_ping_is_answered(site: ConnectedSite):
    ping = {"zen": "Keep it logically awesome.", "hook_id": 1, "repository": {"clone_url": site.repository}}
    answered = await site.post(github(ping, site.secret, event="ping"))
    assert (answered.status_code, answered.json()["data"]) == (200, {"decisions": []})


@pytest.mark.parametrize("event", ["Tag Push Hook", "Merge Request Hook", "Pipeline Hook"])
async def test_other_events_are_ignored(site: ConnectedSite, event: str):
    payload = gitlab_push("refs/heads/main", commit(1), site.repository)
    answered = await site.post(gitlab(payload, site.secret, event=event))
    assert answered.status_code == 200
    assert await site.builds() == []


@pytest.mark.parametrize("deliver", [github, gitea])
async def test_a_pull_request_is_not_built(site: ConnectedSite, deliver: Any):
    """Anybody can open one from a fork. Only who can push to the repository has its branches built."""
    payload = github_push("refs/heads/main", commit(1), site.repository)
    answered = await site.post(deliver(payload, site.secret, event="pull_request"))
    assert (answered.status_code, await site.builds()) == (200, [])


async def test_a_payload_that_names_no_repository_is_accepted(site: ConnectedSite):
    answered = await site.post(github({"ref": "refs/heads/main", "after": commit(1)}, site.secret))
    assert answered.status_code == 202
    assert len(await site.builds()) == 1


async def test_the_time_of_the_last_hook_is_shown(site: ConnectedSite):
    assert (await site.get_routes())["last_hook_at"] is None
    await site.push()
    assert (await site.get_routes())["last_hook_at"] is not None


async def test_a_push_is_built_on_staging(connect: Any):
    site = await connect(("next", "staging"))
    async with site.plane.database.transaction() as tx:
        staging = f"env_{site.id.partition('_')[2]}"
        await tx.run(
            "insert into environments (id, site_id, type, subdomain, status, node_id, created_at)"
            " values ($1, $2, 'staging', $1, 'running', 'node-1', $3)",
            staging,
            site.id,
            tx.now,
        )
    decision = await site.push("next")
    assert (decision["target"], decision["env_id"]) == ("staging", staging)
    ((env, _, ref, _),) = await site.builds()
    assert (env, ref) == (staging, "next")


async def test_a_push_without_a_staging_environment_is_skipped_with_an_event(connect: Any):
    site = await connect(("next", "staging"))
    decision = await site.push("next")
    assert "no staging environment" in decision["reason"]
    assert await site.builds() == []
    (event,) = await site.events("git.push_skipped")
    assert (event["branch"], event["target"]) == ("next", "staging")
    assert "no staging environment" in event["reason"]


async def test_a_preview_environment_is_created_and_then_built(connect: Any):
    site = await connect(("feature/*", "preview"))
    decision = await site.push("feature/shop", 1)
    env = decision["env_id"]
    type_, branch = await site.row("select type, branch from environments where id = $1", env)
    assert (type_, branch) == ("branch", "feature/shop")
    assert await site.builds() == []
    await site.push("feature/shop", 2)
    assert await site.value("select count(*) from environments where site_id = $1", site.id) == 2
    await site.finish_environment(env)
    await site.follow_up()
    assert await site.builds() == [(env, "queued", "feature/shop", commit(2))]


async def test_each_branch_has_its_own_preview(connect: Any):
    site = await connect(("feature/*", "preview"))
    first, second = await site.push("feature/a"), await site.push("feature/b")
    assert first["env_id"] != second["env_id"]


async def test_no_preview_is_created_beyond_the_plans_limit(connect: Any):
    site = await connect(("**", "preview"))
    async with site.plane.database.transaction() as tx:
        await tx.run(
            "insert into plans select 'two branches', label, max_sites, 2, 2, max_concurrent_jobs,"
            " max_storage_gb, rate_read,"
            " rate_write, rate_create, rate_ceiling from plans where name = 'unlimited'"
            " on conflict do nothing"
        )
        await tx.run("update accounts set plan = 'two branches' where id = $1", site.person.id)
    decisions = [await site.push(f"b{number}", number) for number in range(3)]
    assert ["env_id" in decision for decision in decisions] == [True, True, False]
    (event,) = await site.events("git.push_skipped")
    assert event["branch"] == "b2"
    assert "All 2 environments" in event["reason"]


@pytest.mark.parametrize("how", ["push", "delete"])
async def test_a_branch_that_is_deleted_and_comes_back(connect: Any, how: str):
    site = await connect(("feature/*", "preview"))
    env = (await site.push("feature/a"))["env_id"]
    deletion = github_push("refs/heads/feature/a", ZEROS, site.repository) | {"before": commit(1)}
    if how == "delete":
        deletion = {"ref": "feature/a", "ref_type": "branch", "repository": deletion["repository"]}
    answered = await site.post(gitea(deletion, site.secret, event=how))
    assert answered.status_code == 202
    query = "select branch_gone_at from environments where id = $1"
    assert await site.value(query, env) is not None
    await site.push("feature/a", 2)
    assert await site.value(query, env) is None


async def test_deleting_a_tag_does_not_delete_a_branch(connect: Any):
    site = await connect(("**", "preview"))
    env = (await site.push("v1"))["env_id"]
    deletion = {"ref": "v1", "ref_type": "tag", "repository": {"clone_url": site.repository}}
    assert (await site.post(github(deletion, site.secret, event="delete"))).status_code == 200
    assert await site.value("select branch_gone_at from environments where id = $1", env) is None


async def test_a_push_replaces_an_older_one_whose_build_has_not_begun(site: ConnectedSite):
    jobs = {(await site.push("main", number))["job_id"] for number in range(50)}
    assert len(jobs) == 1
    assert await site.builds() == [(site.env, "queued", "main", commit(49))]


async def test_of_fifty_pushes_during_a_build_only_the_newest_is_built(site: ConnectedSite):
    first = (await site.push("main", 0))["job_id"]
    await site.begin_build(first)
    for number in range(1, 51):
        assert "job_id" not in await site.push("main", number)
    await site.follow_up()
    assert len(await site.builds()) == 1
    await site.fail_build(first)
    await site.follow_up()
    await site.follow_up()
    assert [built for _, _, _, built in await site.builds()] == [commit(0), commit(50)]


async def test_simultaneous_pushes_while_a_build_begins_cause_at_most_two_builds(site: ConnectedSite):
    """Whether the build begins before or after each push, the newest push is built last."""
    first = (await site.push("main", 0))["job_id"]
    posted = [site.build_delivery("main", number) for number in range(1, 31)]
    await asyncio.gather(*(site.post(each) for each in posted[:15]), site.begin_build(first))
    await asyncio.gather(*(site.post(each) for each in posted[15:]))
    newest = await site.value("select commit from pushes where env_id = $1", site.env)
    await site.fail_build(first)
    await asyncio.gather(*(site.follow_up() for _ in range(5)))
    built = [each for _, _, _, each in await site.builds()]
    assert len(built) == 2
    assert built[-1] == newest


async def test_a_failed_build_is_not_repeated_automatically(site: ConnectedSite):
    await site.fail_build((await site.push())["job_id"])
    await site.follow_up()
    await site.follow_up()
    assert len(await site.builds()) == 1


async def test_environments_do_not_wait_for_one_another(connect: Any):
    site = await connect(("feature/*", "preview"))
    env = (await site.push("feature/a"))["env_id"]
    await site.finish_environment(env)
    await site.follow_up()
    await site.begin_build((await site.push("main"))["job_id"])
    assert "job_id" in await site.push("feature/a", 5)


async def test_a_push_waits_when_too_many_jobs_are_queued(site: ConnectedSite, plane: ControlPlane):
    async with plane.database.transaction() as tx:
        waiting = [await teams.insert_job(tx, site.id, site.person.id) for _ in range(100)]
    assert "job_id" not in await site.push()
    await site.run("update jobs set status = 'succeeded' where id = any($1)", waiting)
    waits = "select extract(epoch from try_at - pushed_at) from pushes where env_id = $1"
    assert await site.value(waits, site.env) >= push_builds.QUEUE_DELAY
    await site.run("update pushes set try_at = now() - interval '1 second' where env_id = $1", site.env)
    await site.follow_up()
    assert len(await site.builds()) == 1


async def test_a_suspended_preview_is_built_when_it_is_resumed(connect: Any):
    site = await connect(("feature/*", "preview"))
    env = (await site.push("feature/a", 1))["env_id"]
    await site.run("update environments set status = 'suspended' where id = $1", env)
    await site.push("feature/a", 2)
    await site.follow_up()
    assert await site.builds() == []
    await site.finish_environment(env)
    await site.follow_up()
    assert [built for _, _, _, built in await site.builds()] == [commit(2)]


async def test_the_pending_push_of_a_destroyed_preview_is_deleted(connect: Any):
    site = await connect(("feature/*", "preview"))
    env = (await site.push("feature/a"))["env_id"]
    await site.run("update environments set status = 'deleted' where id = $1", env)
    await site.run("update pushes set try_at = now() - interval '1 second' where env_id = $1", env)
    await site.follow_up()
    assert await site.value("select count(*) from pushes where env_id = $1", env) == 0


async def test_a_push_to_a_site_without_a_builder_is_skipped_with_an_event(connect: Any):
    site = await connect()
    await site.run("update sites set runtime = 'cms', profile = 'vanilla' where id = $1", site.id)
    decision = await site.push()
    assert "builder" in decision["reason"]
    assert len(await site.events("git.push_skipped")) == 1


async def test_a_site_without_a_repository_ignores_pushes(connect: Any):
    site = await connect(("main", "live"), repository=None)
    assert (await site.push())["target"] == "ignore"


async def test_old_deliveries_are_deleted(site: ConnectedSite):
    await site.push()
    await site.run("update hook_deliveries set heard_at = heard_at - interval '31 days'")
    async with site.plane.database.transaction() as tx:
        assert await deliveries.delete_old_deliveries(tx) >= 1
    assert await site.value("select count(*) from hook_deliveries where site_id = $1", site.id) == 0


async def test_a_site_whose_branch_is_missing_awaits_a_push_and_then_runs(site: ConnectedSite):
    async with site.plane.database.transaction() as tx:
        await push_builds.build_first_push(tx, site.id)
    ((_, _, ref, built),) = await site.builds()
    assert (ref, built) == ("main", None)
    job = await site.value("select job_id from builds where site_id = $1", site.id)
    await site.fail_build(job, "build.ref_missing")
    await site.follow_up()
    row = await site.row("select status, status_reason from sites where id = $1", site.id)
    assert row == ("awaiting_push", "The branch main does not exist yet.")
    assert "job_id" in await site.push("main", 1)
    await site.deploy()
    await site.follow_up()
    assert await site.row("select status, status_reason from sites where id = $1", site.id) == (
        "running",
        None,
    )


async def test_a_deployed_site_does_not_await_a_push_when_its_branch_is_missing(site: ConnectedSite):
    await site.deploy()
    await site.fail_build((await site.push())["job_id"], "build.ref_missing")
    await site.follow_up()
    assert await site.value("select status from sites where id = $1", site.id) == "running"


async def test_a_site_keeps_running_when_a_build_fails(site: ConnectedSite):
    await site.fail_build((await site.push())["job_id"], "build.failed")
    await site.follow_up()
    assert await site.value("select status from sites where id = $1", site.id) == "running"


async def test_the_answer_to_a_delivery_contains_no_secret(site: ConnectedSite):
    answered = await site.post(site.build_delivery("main", 1))
    assert set(answered.json()) == {"data", "request_id"}
    assert forges.signature(site.secret, b"") not in answered.text
    assert site.secret not in answered.text
