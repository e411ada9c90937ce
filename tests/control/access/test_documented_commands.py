"""The curl commands of docs/ssh.md do what it says."""

from tests.client import Client
from tests.control.access.conftest import EnteredSite
from tests.control.access.keys import new_public_key
from tests.documented_commands import run_commands


async def test_the_documented_commands_work(entered_site: EnteredSite, anonymous: Client) -> None:
    site, key = entered_site, new_public_key("anna@laptop")
    secret = await site.owner.secret("credentials:write")
    responses = await run_commands(anonymous, "ssh.md", SITE=site.id, STEAD_API_KEY=secret, PUBLIC_KEY=key)
    assert [response.status_code for response in responses] == [200, 202, 200, 200, 200]
    listed, _, credentials, reset, of_database = (response.json()["data"] for response in responses)
    assert listed == {"keys": []}
    assert [each["label"] for each in await site.list_keys()] == ["Laptop"]
    assert credentials["environments"][0]["ssh"]["user"] == reset["user"]
    assert credentials["environments"][0]["database"]["user"] == of_database["user"]
