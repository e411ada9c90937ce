"""Forges are told about builds: commit statuses, and a comment with the URL of a preview."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args

import pytest

from stead.control.app import ControlPlane
from stead.control.git import report_store
from stead.control.git.forge_reports import MAX_ATTEMPTS, PER_OWNER, Reporter
from stead.control.sealing import Sealer
from stead.control.settings import Settings
from stead.control.webhooks.client import HttpsClient
from stead.shared.address_policy import AddressPolicy
from tests import teams
from tests.control.git.conftest import ConnectedSite, commit
from tests.forge_apis import TOKEN, ForgeServer, Kind
from tests.git_server import GitServer
from tests.teams import found_team

BRANCH = "feature/a"
RUNNING = {"github": "pending", "gitlab": "running", "gitea": "pending"}
FAILED = {"github": "failure", "gitlab": "failed", "gitea": "failure"}


@dataclass
class ReportingSite:
    site: ConnectedSite
    forge: ForgeServer
    reporter: Reporter
    slug: str

    async def set_forge(self, forge: dict[str, str] | None) -> dict[str, Any]:
        rules = [{"pattern": "feature/*", "target": "preview"}]
        put = await self.site.person.session.put(
            f"/v1/sites/{self.site.id}/branch-routes", json={"rules": rules, "forge": forge}
        )
        assert put.is_success, put.text
        assert TOKEN not in put.text
        return dict(put.json()["data"])

    async def report(self) -> None:
        """Do what a worker does, as if everything was due."""
        await self.site.run(
            "update commit_reports set due_at = now() - interval '1 minute' where site_id = $1", self.site.id
        )
        await self.reporter.run()

    async def waiting(self) -> int:
        return int(
            await self.site.value("select count(*) from commit_reports where site_id = $1", self.site.id)
        )

    async def push(self, number: int = 1, branch: str = "main") -> str:
        """Returns the environment."""
        decision = await self.site.push(branch, number)
        env = str(decision["env_id"]) if branch != "main" else self.site.env
        if branch != "main" and "job_id" not in decision:
            await self.site.finish_environment(env)
            await self.site.follow_up()
        return env

    async def deploy(self, env: str) -> None:
        """Let the newest build of the environment succeed, with a deployment that is live."""
        async with self.site.plane.database.transaction() as tx:
            artifact = await teams.insert_artifact(tx, self.site.id)
            await tx.run(
                "update builds set status = 'succeeded', artifact_id = $2, finished_at = now() where id ="
                " (select id from builds where env_id = $1 order by id desc limit 1)",
                *(env, artifact),
            )
            await tx.run(
                "update jobs set status = 'succeeded', finished_at = now() where env_id = $1"
                " and type = 'build.run' and status = 'queued'",
                env,
            )
            await tx.run(
                "update deployments set status = 'superseded', current_since = null"
                " where env_id = $1 and status = 'live'",
                env,
            )
            await teams.insert_deployment(tx, self.site.id, env, artifact)

    async def fail(self) -> None:
        await self.site.run(
            "update builds set status = 'failed', finished_at = now() where site_id = $1", self.site.id
        )

    def named(self, environment: str) -> str:
        return f"stead/{self.slug}/{environment}"

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(each["state"], each["named"]) for each in self.forge.statuses]


@pytest.fixture
def sealer(settings: Settings) -> Sealer:
    return Sealer.from_text(settings.sealing_key)


@pytest.fixture
async def make(
    plane: ControlPlane, connect: Any, server: GitServer, client: HttpsClient, sealer: Sealer
) -> Any:
    async def create(kind: Kind = "github") -> ReportingSite:
        forge = ForgeServer(kind, "octo/site", {7: BRANCH, 8: "other"})
        server.api = forge
        url = f"https://{server.host}:{server.port}/octo/site.git"
        site = await connect(("feature/*", "preview"), repository=url)
        reporter = Reporter(plane.database, client, sealer, extra_ports=frozenset({server.port}))
        slug = await site.value("select slug from sites where id = $1", site.id)
        made = ReportingSite(site, forge, reporter, slug)
        assert (await made.set_forge({"kind": kind, "token": TOKEN}))["forge"] == kind
        return made

    return create


@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_push_to_a_branch_gets_statuses_and_one_comment(make: Any, kind: Kind):
    site = await make(kind)
    env = await site.push(1, BRANCH)
    await site.report()
    assert site.told == [(RUNNING[kind], site.named(BRANCH))]
    await site.report()
    assert len(site.told) == 1, "the same state is not told twice"
    await site.deploy(env)
    await site.report()
    host = await site.site.value("select subdomain from environments where id = $1", env)
    last = site.forge.statuses[-1]
    assert (last["state"], last["target_url"], last["commit"]) == ("success", f"https://{host}/", commit(1))
    (comment,) = site.forge.comments.values()
    assert comment == {"number": 7, "body": f"Preview of {commit(1)[:12]}: https://{host}/"}
    assert await site.waiting() == 0

    await site.push(2, BRANCH)
    await site.deploy(env)
    await site.report()
    (comment,) = site.forge.comments.values()
    assert commit(2)[:12] in comment["body"], "the comment is replaced"

    site.forge.comments.clear()
    await site.push(3, BRANCH)
    await site.deploy(env)
    await site.report()
    assert len(site.forge.comments) == 1, "a comment that was deleted is written again"


@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_failed_build_is_told_without_a_url_or_a_comment(make: Any, kind: Kind):
    site = await make(kind)
    await site.push()
    await site.fail()
    await site.report()
    (status,) = site.forge.statuses
    assert (status["state"], status["named"]) == (FAILED[kind], site.named("production"))
    assert (status["description"], "target_url" in status) == ("The build failed.", False)
    assert site.forge.comments == {}


async def test_two_sites_of_one_repository_do_not_replace_the_statuses_of_each_other(make: Any):
    """A required check must not pass because another site was built."""
    failed, deployed = await make(), await make()
    await failed.push()
    await failed.fail()
    await failed.report()
    await deployed.deploy(await deployed.push())
    await deployed.report()
    expected = [("failure", failed.named("production")), ("success", deployed.named("production"))]
    assert deployed.told == expected, "both tell the same server"
    assert failed.slug != deployed.slug


async def test_a_transfer_or_another_repository_ends_what_is_known_about_the_forge(make: Any):
    site = await make()
    await site.deploy(await site.push(1, BRANCH))
    await site.report()
    known = (
        "select count(*) from preview_comments c join environments e on e.id = c.env_id where e.site_id = $1"
    )
    assert await site.site.value(known, site.site.id) == 1
    await site.site.run("update sites set git_repo = git_repo || '/' where id = $1", site.site.id)
    assert await site.site.value(known, site.site.id) == 0, "its number means another comment now"
    assert (await site.site.get_routes())["forge"] == "github"

    team = await found_team(site.site.person)
    path = f"/v1/sites/{site.site.id}"
    unfinished = "update jobs set status = 'succeeded' where site_id = $1 and status = 'queued'"
    await site.site.run(unfinished, site.site.id)
    moved = await site.site.person.session.post(f"{path}/transfer", json={"to_team_id": team})
    assert moved.status_code == 200, moved.text
    assert (await site.site.get_routes())["forge"] is None, "the new owner has not given a token"


async def test_a_branch_without_a_pull_request_gets_only_statuses(make: Any):
    site = await make()
    site.forge.pull_requests.clear()
    await site.deploy(await site.push(1, BRANCH))
    await site.report()
    assert (site.told, site.forge.comments) == ([("success", site.named(BRANCH))], {})


@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_pull_request_from_a_fork_gets_no_comment(make: Any, kind: Kind):
    """Anybody can open one, from a branch with any name. It is neither built nor told about previews."""
    site = await make(kind)
    site.forge.pull_requests |= {5: BRANCH, 6: "feature/b"}
    site.forge.from_forks = {5, 6}
    await site.deploy(await site.push(1, BRANCH))
    await site.report()
    await site.deploy(await site.push(2, "feature/b"))
    await site.report()
    assert [each["number"] for each in site.forge.comments.values()] == [7]


async def test_a_forge_that_fails_for_a_while_is_told_later(make: Any):
    site = await make()
    await site.push()
    site.forge.refusals = [503, 429]
    await site.report()
    assert (await site.site.get_routes())["forge_error"] == "The forge answered with status 503."
    await site.report()
    await site.report()
    assert site.told == [("pending", site.named("production"))]
    assert (await site.site.get_routes())["forge_error"] is None


async def test_a_forge_that_fails_forever_is_given_up(make: Any):
    site = await make()
    await site.push()
    site.forge.refusals = [500] * 100
    for _ in range(MAX_ATTEMPTS + 2):
        await site.report()
    assert (len(site.forge.requests), await site.waiting()) == (MAX_ATTEMPTS, 0)


async def test_a_number_that_cannot_be_stored_is_no_answer_of_the_api(make: Any):
    """Otherwise the status and the comment would be sent again and again."""
    site = await make()
    site.forge.pull_requests = {2**70: BRANCH}
    await site.deploy(await site.push(1, BRANCH))
    for _ in range(MAX_ATTEMPTS + 2):
        await site.report()
    error = (await site.site.get_routes())["forge_error"]
    assert (error, await site.waiting()) == ("The forge did not answer as its API does.", 0)
    assert site.forge.comments == {}


async def test_a_wrong_token_is_shown_to_the_owner_and_not_tried_again(make: Any):
    site = await make()
    await site.set_forge({"kind": "github", "token": "another-token"})
    await site.push()
    await site.report()
    assert (await site.site.get_routes())["forge_error"] == "The forge refuses the token."
    assert await site.waiting() == 0
    assert len(await site.site.builds()) == 1, "the build does not depend on it"


async def test_a_redirect_is_not_followed(make: Any, server: GitServer):
    site = await make()
    await site.push()
    site.forge.refusals = [302]
    await site.report()
    assert len(server.requests) == 1
    assert (await site.site.get_routes())["forge_error"] == "The forge answered with status 302."


async def test_a_forge_at_an_address_that_is_not_public_is_not_dialled(
    make: Any, server: GitServer, plane: ControlPlane, sealer: Sealer
):
    site = await make()
    strict = HttpsClient(AddressPolicy(()))
    site.reporter = Reporter(plane.database, strict, sealer, extra_ports=frozenset({server.port}))
    await site.push()
    await site.report()
    assert server.requests == []
    error = (await site.site.get_routes())["forge_error"]
    assert error == "The forge could not be reached: Its address is not public."
    await strict.close()


async def test_a_port_that_repositories_may_not_have_is_not_dialled(
    make: Any, server: GitServer, plane: ControlPlane, client: HttpsClient, sealer: Sealer
):
    site = await make()
    site.reporter = Reporter(plane.database, client, sealer)
    await site.push()
    await site.report()
    assert server.requests == []
    assert "its port is neither 443 nor 22" in (await site.site.get_routes())["forge_error"]


async def test_a_token_is_not_sent_to_another_repository_than_it_was_given_for(make: Any, server: GitServer):
    site = await make()
    await site.push()
    other = f"https://{server.host}:{server.port}/eve/site.git"
    await site.site.run("update sites set git_repo = $2 where id = $1", site.site.id, other)
    await site.report()
    assert (server.requests, await site.waiting()) == ([], 0)


async def test_a_removed_token_is_not_used_any_more_and_others_keep_it(make: Any, server: GitServer):
    site = await make()
    await site.site.route(("feature/*", "preview"))
    assert (await site.site.get_routes())["forge"] == "github", "it stays if it is not sent"
    await site.push()
    assert (await site.set_forge(None))["forge"] is None
    await site.report()
    assert (server.requests, await site.waiting()) == ([], 0)
    await site.push(2)
    assert await site.waiting() == 0


async def test_the_token_is_sealed(make: Any):
    site = await make()
    stored = await site.site.value("select c::text from git_connections c where site_id = $1", site.site.id)
    assert TOKEN not in stored
    assert TOKEN.encode().hex() not in stored


async def test_a_site_without_a_repository_has_no_forge(connect: Any):
    site = await connect(repository=None)
    body = {"rules": [], "forge": {"kind": "github", "token": TOKEN}}
    put = await site.person.session.put(f"/v1/sites/{site.id}/branch-routes", json=body)
    assert (put.status_code, put.json()["error"]["param"]) == (400, "forge")


async def test_an_owner_has_only_a_few_reports_at_once(make: Any, plane: ControlPlane):
    site = await make()
    async with plane.database.transaction() as tx:
        for _ in range(PER_OWNER + 3):
            build = await teams.insert_build(tx, site.site.id, site.site.env, status="running")
            await report_store.insert(tx, site.site.id, "owner", build)
    async with plane.database.transaction() as tx:
        lease = timedelta(minutes=5)
        first = await report_store.claim_due(tx, lease, 100, [], per_owner=PER_OWNER)
        busy = [each.owner for each in first]
        again = await report_store.claim_due(tx, lease, 100, busy, per_owner=PER_OWNER)
    assert [each.owner for each in first].count("owner") == PER_OWNER
    assert "owner" not in [each.owner for each in again]
