"""Secrets that the API takes or returns are found nowhere: not in an engine, not in a log, not on a node."""

import io
import json
import secrets
import zipfile
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from stead.dev.programs import STEAD_PROGRAMS, NodeAgent
from stead.dev.running_stack import RunningStack
from stead.node import settings as node_settings
from stead.node.hosting.desired_state import DesiredState
from stead.node.wordpress.spec import WordPressSecrets, WordPressSpec
from stead.shared.ids import new_id
from tests.client import Client
from tests.control.audit.secret_fields import RETURNED, SENT
from tests.journeys.customer import Customer
from tests.journeys.forge import Forge
from tests.journeys.planted_secret import encodings, plant
from tests.journeys.secret_search import find_places, forms
from tests.journeys.wordpress_site import ADMIN, DOMAIN, WordPressSite

VISIBLE = f"visible{secrets.token_hex(12)}"
"""In a file that a customer uploads: what is stored must be found, or the search would prove nothing."""
Found = dict[str, str]
"""Secrets, by the name of the field in the API, and after a comma what the secret is for."""


def _canary() -> str:
    return f"canary{secrets.token_hex(16)}"


async def _data(answer: httpx.Response) -> Any:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
    return answer.json()["data"] if answer.content else None


async def _secrets_of_an_account(stack: RunningStack, customer: Customer) -> Found:
    """Passwords, session, invite, key and webhook, each made, used and replaced."""
    found = {name: _canary() for name in ("password", "new_password", "password, wrong")}
    email = f"{new_id('walk')}@example.com"
    team = (await customer.post("/v1/teams", {"name": "A Team"}))["team_id"]
    invite = await customer.post(f"/v1/teams/{team}/invites", {"role": "observer"})
    found["token, of an invite"] = invite["token"]
    async with Client(base_url=stack.api.url, timeout=60) as visitor:
        new = {"email": email, "password": found["password"], "name": "Ada"}
        await _data(await visitor.post("/v1/accounts", json=new))
        wrong = {"email": email, "password": found["password, wrong"]}
        assert (await visitor.post("/v1/sessions", json=wrong)).status_code == 401
        signed_in = await visitor.post("/v1/sessions", json={"email": email, "password": found["password"]})
        found["token, of a session"] = (await _data(signed_in))["token"]
        session = visitor.as_(found["token, of a session"])
        await _data(await session.post("/v1/invites/accept", json={"token": invite["token"]}))
        found["current_password"] = found["password"]
        change = {"new_password": found["new_password"], "current_password": found["password"]}
        await _data(await session.patch("/v1/account", json=change))
        key = await _data(await session.post("/v1/api-keys", json={"scopes": ["*"]}))
        rolled = await _data(await session.post(f"/v1/api-keys/{key['id']}/roll"))
        found |= {"secret, of a key": key["secret"], "secret, of a rolled key": rolled["secret"]}
        for secret in (key["secret"], rolled["secret"]):
            await _data(await visitor.as_(secret).get("/v1/account", params={"access_token": secret}))
        hook = {"url": "https://hooks.example.com/", "event_types": ["*"]}
        endpoint = await _data(await session.post("/v1/webhook-endpoints", json=hook))
        rolled = await _data(await session.post(f"/v1/webhook-endpoints/{endpoint['id']}/roll"))
        found |= {"secret, of a webhook": endpoint["secret"], "secret, rolled": rolled["secret"]}
    return found


async def _forge_token(customer: Customer) -> str:
    """Of a site with a repository, which need not exist."""
    wanted = {"domain": "forge.example.com", "profile": "static", "git_repo": "https://git.example.com/a.git"}
    created = await customer.post("/v1/sites", wanted)
    token = _canary()
    path = f"/v1/sites/{created['resource']['site_id']}/branch-routes"
    await customer.put(path, {"rules": [], "forge": {"kind": "gitea", "token": token}})
    return token


async def _secrets_of_a_site(customer: Customer, site: str) -> Found:
    """Of its hook, which is called, its firewall partner, its previews and its metrics."""
    production = f"{site}/environments/production"
    partner, password = _canary(), _canary()
    changed = {"security": {"waf_partner_secret_key": partner, "preview_password": password}}
    await customer.does("PATCH", f"{site}/config", changed)
    renewed = await customer.post(f"{production}/renew")
    connection = await customer.put(f"{site}/branch-routes", {"rules": [], "roll_hook_secret": True})
    hook: str = connection["hook_secret"]
    token = await _forge_token(customer)
    await Forge(connection["hook_url"], hook, "https://git.example.com/site.git").tell("main", "1" * 40)
    async with httpx.AsyncClient(timeout=60.0) as client:
        # GitLab sends the secret itself.
        headers = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": hook}
        await client.post(connection["hook_url"], json={}, headers=headers)
    return {
        "hook_secret": hook,
        "forge.token": token,
        "security.waf_partner_secret_key": partner,
        "security.preview_password": password,
        "metrics_token": renewed["metrics_token"],
    }


def _archive() -> bytes:
    """Nothing in it is compressed. Its build prints a secret in many ways and publishes only its digest."""
    prints = """
    const fs = require('fs'), token = process.env.API_TOKEN;
    console.log(token, Buffer.from(`x:${token}`).toString('base64'), Buffer.from(token).toString('hex'));
    fs.mkdirSync('dist');
    fs.copyFileSync('index.html', 'dist/index.html');
    const digest = require('crypto').createHash('sha256').update(token).digest('hex');
    fs.writeFileSync('dist/digest.txt', digest);
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("index.html", f"<h1>{VISIBLE}</h1>")
        archive.writestr("package.json", json.dumps({"scripts": {"build": "node build.js"}}))
        archive.writestr("build.js", prints)
    return content.getvalue()


async def _upload(customer: Customer, site: str) -> tuple[str, str]:
    """The id of an upload, and the signature that allowed it."""
    archive = _archive()
    upload = await customer.post(f"{site}/uploads", {"size_bytes": len(archive)})
    async with httpx.AsyncClient(timeout=60.0) as client:
        put = await client.put(upload["url"], content=archive, headers=upload["headers"])
    assert put.is_success, put.text
    return upload["id"], parse_qs(urlsplit(upload["url"]).query)["X-Amz-Signature"][0]


async def _secrets_of_wordpress(stack: RunningStack, customer: Customer, site: WordPressSite) -> Found:
    """The password of its administrator, and what the node made up for its database and its cookies."""
    environment = await customer.get(f"{site.path}/environments/production")
    settings = node_settings.from_environment(stack[NodeAgent].process_environment())
    assert settings.private_key is not None
    file = settings.data / "hosting" / "wordpress.sqlite"
    state = DesiredState(file, WordPressSpec, WordPressSecrets, settings.private_key)
    try:
        kept = state.find(environment["id"])
    finally:
        state.close()
    assert kept is not None
    salts = {f"salt {number}": salt for number, salt in enumerate(kept.secrets.salts)}
    return {"admin.password": ADMIN["password"], "database": kept.secrets.database_password, **salts}


async def _assert_searchable(stack: RunningStack, stored: list[str]) -> None:
    """What is stored, and what programs log, is found. Otherwise it would prove nothing to find no secret."""
    found = await find_places(stack, [*stored, '"operation":'])
    places = set().union(*found.values())
    assert places >= {"postgres", "nats", "temporal", "seaweedfs", "node", "mariadb", "logs/api.log"}
    written = {each.name for each in stack.directory.logs.iterdir()}
    assert written >= {f"{program.name}.log" for program in STEAD_PROGRAMS}


async def _leaks(stack: RunningStack, found: Found) -> dict[str, set[str]]:
    """For each secret that occurs, in any form: where."""
    leaks: dict[str, set[str]] = {}
    named = {form: name for name, secret in found.items() for form in forms(secret)}
    for form, places in (await find_places(stack, named)).items():
        leaks.setdefault(named[form], set()).update(places)
    return leaks


async def test_a_secret_that_leaks_anywhere_in_any_form_is_found(stack: RunningStack) -> None:
    found = {f"planted in form {form}": _canary() for form in range(3)}
    planted = {
        name: await plant(stack, encodings(secret)[form]) for form, (name, secret) in enumerate(found.items())
    }
    leaks = await _leaks(stack, found | {"not planted": _canary()})
    assert leaks.keys() == planted.keys()
    assert all(leaks[name] >= places for name, places in planted.items()), (planted, leaks)


async def test_no_secret_is_kept_or_written_by_any_engine_or_program(
    stack: RunningStack, customer: Customer, wordpress_site: WordPressSite
) -> None:
    found = await _secrets_of_an_account(stack, customer)
    wanted = {"domain": "secrets.example.com", "profile": "static"}
    created = await customer.does("POST", "/v1/sites", wanted)
    id_ = created["resource"]["site_id"]
    site = f"/v1/sites/{id_}"
    found |= await _secrets_of_a_site(customer, site)
    upload, found["signature of an upload"] = await _upload(customer, site)
    found["value"] = _canary()
    await customer.put(f"{site}/environments/production/secrets/API_TOKEN", {"value": found["value"]})
    build = {"builder": "static", "source": upload}
    built = await customer.does("POST", f"{site}/environments/production/builds", build)
    found |= await _secrets_of_wordpress(stack, customer, wordpress_site)
    assert {name.partition(",")[0] for name in found} >= SENT | RETURNED

    await _assert_searchable(stack, [id_, built["id"], VISIBLE, DOMAIN])
    assert await _leaks(stack, found) == {}
