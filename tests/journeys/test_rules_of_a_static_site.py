"""Rule files from the commit to the visitor: built, deployed, applied, locked and rolled back."""

import json

import pytest

from tests.git_server import GitServer
from tests.journeys import projects
from tests.journeys.customer import Customer
from tests.journeys.deliveries import built, deployed
from tests.journeys.forge import Forge
from tests.journeys.visitor import Visitor

DOMAIN = "rules.example.com"
REASON = "The sale runs until Monday."
BUILD = r"""
const fs = require("fs");
fs.mkdirSync("dist/assets", { recursive: true });
const words = fs.readFileSync("words.txt", "utf8").trim();
fs.writeFileSync("dist/index.html", `<h1>${words}</h1>\n`);
fs.writeFileSync("dist/app.html", "<h1>the application</h1>\n");
fs.writeFileSync("dist/404.html", "<h1>our own page for what is missing</h1>\n");
fs.writeFileSync("dist/assets/data.json", "{}\n");
fs.writeFileSync("dist/_redirects", [
  "/blog/:year/* /archive/:year/:splat 302",
  "/app/* /app.html 200",
  "/here /there 302 Country=de",
].join("\n"));
fs.writeFileSync("dist/_headers", [
  "/assets/*",
  "  Access-Control-Allow-Origin: *",
  "  Set-Cookie: a=b",
].join("\n"));
"""
SITE_FILE = {
    "redirects": [{"from": "/old", "to": "/new", "status": 308}],
    "headers": [{"for": "/*", "values": {"X-From": "stead.json"}}],
}


@pytest.mark.timeout(600)
async def test_the_rule_files_of_a_commit_are_built_applied_locked_and_rolled_back(
    customer: Customer, visitor: Visitor, git_server: GitServer
) -> None:
    repository = git_server.create("rules.git")
    first = projects.write(
        repository, "with rules", files={"build.js": BUILD, "stead.json": json.dumps(SITE_FILE)}
    )
    wanted = {"domain": DOMAIN, "profile": "static", "git_repo": repository.url, "git_branch": "main"}
    created = await customer.does("POST", "/v1/sites", wanted)
    site = f"/v1/sites/{created['resource']['site_id']}"
    production = f"{site}/environments/production"

    # The log of the build names what cannot be used; the build succeeds.
    build = await built(customer, production, first)
    lines = (await customer.listen(build["job_id"])).lines
    warnings = [line for line in lines if "warning: " in line]
    assert len(warnings) == 2, lines
    assert "_redirects line 3" in warnings[0]
    assert "Country=de" in warnings[0]
    assert "_headers line 3" in warnings[1]
    assert any("3 redirects and 2 header rules" in line for line in lines), lines

    # Visitors get what the files say, and never the files.
    await deployed(customer, production, build["artifact_id"])
    home = await visitor.until(DOMAIN, "<h1>with rules</h1>")
    assert home.headers["x-from"] == "stead.json"
    moved = await visitor.get(DOMAIN, "/blog/2026/11/news")
    assert (moved.status, moved.headers["location"]) == (302, "/archive/2026/11/news")
    moved = await visitor.get(DOMAIN, "/old")
    assert (moved.status, moved.headers["location"]) == (308, "/new")
    shown = await visitor.get(DOMAIN, "/app/any/where")
    assert (shown.status, shown.text) == (200, "<h1>the application</h1>\n")
    data = await visitor.get(DOMAIN, "/assets/data.json")
    assert (data.status, data.headers["access-control-allow-origin"]) == (200, "*")
    assert "set-cookie" not in data.headers
    for path in ("/here", "/_redirects", "/_headers", "/stead.json"):
        missing = await visitor.get(DOMAIN, path)
        assert (missing.status, "our own page" in missing.text) == (404, True), path

    # A push to a locked environment is built and not deployed.
    routes = {"rules": [{"pattern": "main", "target": "live"}], "roll_hook_secret": True}
    connection = await customer.put(f"{site}/branch-routes", routes)
    forge = Forge(connection["hook_url"], connection["hook_secret"], repository.url)
    await customer.put(f"{production}/lock", {"reason": REASON})
    without = BUILD.replace("dist/_redirects", "dist/notes.txt")
    second = projects.write(repository, "without redirects", files={"build.js": without})
    await forge.tell("main", second, before=first)
    build = await built(customer, production, second)
    assert REASON in build["error"]
    assert len(await customer.get(f"{production}/deployments")) == 1
    assert "with rules" in (await visitor.get(DOMAIN)).text

    # Rules belong to the release: they go with it and come back with it.
    assert (await customer.api.delete(f"{production}/lock")).status_code == 204
    await customer.does("POST", f"{production}/deployments", {"artifact_id": build["artifact_id"]})
    await visitor.until(DOMAIN, "without redirects")
    assert (await visitor.get(DOMAIN, "/blog/2026/11/news")).status == 404
    assert (await visitor.get(DOMAIN, "/old")).status == 308
    releases = await customer.get(f"{production}/releases")
    await customer.does("POST", f"{production}/deployments/{releases[1]['id']}/rollback")
    await visitor.until(DOMAIN, "with rules")
    assert (await visitor.get(DOMAIN, "/blog/2026/11/news")).status == 302
