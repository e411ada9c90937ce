"""One site's life, with everything real: git, npm, S3, NATS, nginx, a certificate authority. Every claim is
checked from outside over HTTPS, and every job is followed by a client whose connection breaks."""

from tests.forge_apis import TOKEN, ForgeServer
from tests.git_server import GitServer
from tests.journeys import projects
from tests.journeys.customer import Customer
from tests.journeys.deliveries import become, built, deployed
from tests.journeys.forge import Forge
from tests.journeys.visitor import Visitor
from tests.patience import time_limit

DOMAIN = "shop.example.com"


async def test_a_site_from_its_first_commit_to_its_last_preview(
    customer: Customer, visitor: Visitor, git_server: GitServer
) -> None:
    repository = git_server.create("shop.git")
    first = projects.write(repository, "first words")

    # Created from git: built and live by itself.
    wanted = {"domain": DOMAIN, "profile": "static", "git_repo": repository.url, "git_branch": "main"}
    created = await customer.does("POST", "/v1/sites", wanted)
    site = f"/v1/sites/{created['resource']['site_id']}"
    production = f"{site}/environments/production"
    build = await built(customer, production, first)
    assert (build["commit"], build["author"]) == (first, "Ada")
    await deployed(customer, production, build["artifact_id"])
    await visitor.until(DOMAIN, "<h1>first words</h1><p>true</p>")

    # A pushed commit, told by the forge, is live.
    routes = {
        "rules": [{"pattern": "main", "target": "live"}, {"pattern": "feature/*", "target": "preview"}],
        "roll_hook_secret": True,
        "forge": {"kind": "gitea", "token": TOKEN},
    }
    git_server.api = review = ForgeServer("gitea", "shop", {3: "feature/new"})
    connection = await customer.put(f"{site}/branch-routes", routes)
    forge = Forge(connection["hook_url"], connection["hook_secret"], repository.url)
    second = projects.write(repository, "second words")
    (decision,) = await forge.tell("main", second, before=first)
    assert decision["target"] == "live"
    heard = await customer.listen(decision["job_id"])
    assert any("made a page of 12 letters" in line for line in heard.lines)
    assert any(f"for https://{DOMAIN} from {second}" in line for line in heard.lines)
    await deployed(customer, production, (await built(customer, production, second))["artifact_id"])
    await visitor.until(DOMAIN, "second words")

    # A staging environment shows what production shows; something newer is tried there and promoted.
    await customer.does("POST", f"{site}/environments", {"type": "staging"})
    (staging,) = (await customer.api.get(f"{site}/environments")).json()["data"]
    beside = f"{site}/environments/{staging['id']}"
    await visitor.until(staging["subdomain"], "second words")
    third = projects.write(repository, "third words")
    build_request = {
        "builder": "static",
        "source_ref": "main",
        "commit": third,
        "auto_deploy": True,
    }
    job = await customer.does("POST", f"{beside}/builds", build_request)
    assert job["result"]["url"] == f"https://{staging['subdomain']}/"
    deployment = await deployed(customer, beside, job["result"]["artifact_id"])
    assert job["result"]["deployment_id"] == deployment["id"]
    await visitor.until(staging["subdomain"], "third words")
    assert "second words" in (await visitor.get(DOMAIN)).text
    promoted = await customer.does("POST", f"{beside}/promote", {"to_env": "production"})
    assert promoted["result"]["digest"] == job["result"]["digest"]
    assert "third words" in (await visitor.get(DOMAIN)).text

    # Back to exactly what an earlier deployment ran.
    releases = await customer.get(f"{production}/releases")
    assert [each["current"] for each in releases] == [True, False, False]
    rolled_back = await customer.does("POST", f"{production}/deployments/{releases[2]['id']}/rollback")
    assert rolled_back["result"]["digest"] == releases[2]["digest"]
    assert "first words" in (await visitor.get(DOMAIN)).text
    statuses = [each["status"] for each in await customer.get(f"{production}/deployments")]
    assert statuses == ["live", "superseded", "superseded", "superseded"]

    # A branch gets an environment of its own by being pushed.
    fourth = projects.write(repository, "words of a feature", branch="feature/new")
    (decision,) = await forge.tell("feature/new", fourth)
    assert decision["target"] == "preview"
    preview = f"{site}/environments/{decision['env_id']}"
    await deployed(customer, preview, (await built(customer, preview, fourth))["artifact_id"])
    host = (await customer.get(preview))["subdomain"]
    await visitor.until(host, "words of a feature")

    # The forge shows it in the pull request, and the state of both commits.
    async with time_limit(60):
        await review.commented.wait()
    assert list(review.comments.values()) == [
        {"number": 3, "body": f"Preview of {fourth[:12]}: https://{host}/"}
    ]
    shown = {each["commit"]: (each["named"], each["state"]) for each in review.statuses}
    slug = (await customer.get(site))["slug"]
    assert shown[second] == (f"stead/{slug}/production", "success")
    assert shown[fourth] == (f"stead/{slug}/feature/new", "success")

    # Suspended, it says so; resumed, it is as it was; destroyed, it is gone.
    await customer.does("POST", f"{preview}/suspend")
    paused = await visitor.get(host)
    assert (paused.status, paused.headers["x-stead-reason"]) == (503, "suspended")
    assert "This site is paused" in paused.text
    await customer.does("POST", f"{preview}/resume")
    assert "words of a feature" in (await visitor.get(host)).text
    await customer.does("DELETE", preview)
    assert (await visitor.get(host, secure=False)).status == 404
    assert "first words" in (await visitor.get(DOMAIN)).text


async def test_a_site_of_an_empty_repository_waits_for_its_first_push(
    customer: Customer, visitor: Visitor, git_server: GitServer
) -> None:
    repository = git_server.create("empty.git")
    domain = "early.example.com"
    wanted = {"domain": domain, "profile": "static", "git_repo": repository.url, "git_branch": "main"}
    created = await customer.does("POST", "/v1/sites", wanted)
    site = f"/v1/sites/{created['resource']['site_id']}"
    production = f"{site}/environments/production"

    waiting = await become(customer, site, "awaiting_push")
    assert waiting["status_reason"] == "The branch main does not exist yet."
    (build,) = await customer.get(f"{production}/builds")
    assert (await customer.get(f"/v1/jobs/{build['job_id']}"))["error"]["code"] == "build.ref_missing"

    routes = {"rules": [{"pattern": "main", "target": "live"}], "roll_hook_secret": True}
    connection = await customer.put(f"{site}/branch-routes", routes)
    forge = Forge(connection["hook_url"], connection["hook_secret"], repository.url)
    first = projects.write(repository, "words at last")
    await forge.tell("main", first)
    await deployed(customer, production, (await built(customer, production, first))["artifact_id"])
    await visitor.until(domain, "words at last")
    await become(customer, site, "running")
