"""`stead` at a terminal: it asks, hides what is secret, and takes no for an answer."""

import asyncio
import re
from pathlib import Path

import pytest

from stead_cli import devices
from stead_cli.session import Session
from stead_sdk import Stead
from tests.clients.fault_proxy import FaultProxy
from tests.clients.terminal import CTRL_C, Machine
from tests.patience import slowdown
from tests.people import Person


@pytest.fixture
async def key(person: Person) -> str:
    return await person.secret()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def sign_in(machine: Machine, api: str, key: str) -> str:
    done = machine.at_terminal(
        "login", "--with-key", answers=[("The address of the installation", api), ("API key", key)]
    )
    assert done.code == 0, done.out
    return done.out


def test_people_sign_in_by_typing(machine: Machine, api: str, key: str, person: Person):
    screen = sign_in(machine, api, key)
    assert key not in screen, "the key is not shown"
    assert f"Signed in to {api}" in screen
    assert str(person.id) in machine.at_terminal("whoami").out


def test_people_sign_in_by_approving_in_a_browser(machine: Machine, api: str, person: Person):
    session = person.session.headers["authorization"].removeprefix("Bearer ")

    def approve(screen: str) -> None:
        found = re.search(r"compare the code: (\S+)", screen)
        assert found is not None
        with Stead(session, base_url=api) as browser:
            assert browser.device_authorizations.get(found[1]).machine_name
            browser.device_authorizations.approve(found[1])

    done = machine.at_terminal("login", "--base-url", api, answers=[("compare the code: ", approve)])
    assert done.code == 0, done.out
    assert f"Signed in to {api} as {person.account.email}" in done.out
    assert "stead_live_" not in done.out, "the key is not shown"
    [key] = machine.stead("keys", "list", "--json").json
    assert " on " in key["name"]
    assert machine.stead("logout").code == 0
    with Stead(session, base_url=api) as browser:
        [left] = browser.api_keys.list()
        assert left.revoked_at is not None


def test_a_denied_sign_in_is_refused(machine: Machine, api: str, person: Person):
    session = person.session.headers["authorization"].removeprefix("Bearer ")

    def deny(screen: str) -> None:
        found = re.search(r"compare the code: (\S+)", screen)
        assert found is not None
        with Stead(session, base_url=api) as browser:
            browser.device_authorizations.deny(found[1])

    done = machine.at_terminal("login", "--base-url", api, answers=[("compare the code: ", deny)])
    assert done.code == 6, done.out
    assert machine.stead("whoami").code == 4


def test_people_are_asked_for_what_is_missing(machine: Machine, api: str, key: str):
    sign_in(machine, api, key)
    done = machine.at_terminal("teams", "create", answers=[("name", "Typed")])
    assert done.code == 0, done.out
    assert "Typed" in machine.at_terminal("teams", "list").out


def test_a_list_is_asked_for_once(machine: Machine, api: str, key: str):
    sign_in(machine, api, key)
    made = machine.at_terminal(
        "keys", "create", "--name", "typed", answers=[("scopes", "sites:read, jobs:read")]
    )
    assert made.code == 0, made.out
    [found] = [each for each in machine.stead("keys", "list", "--json").json if each["name"] == "typed"]
    assert found["scopes"] == ["sites:read", "jobs:read"]


def test_json_is_asked_for_once(machine: Machine, api: str, key: str):
    sign_in(machine, api, key)
    words = ("access", "ssh-keys-replace", "--site", "site_" + "0" * 26)
    wrong = machine.at_terminal(*words, answers=[("keys", "{")])
    assert wrong.code == 2, wrong.out
    missing = machine.at_terminal(*words, answers=[("keys", "[]")])
    assert missing.code == 5, missing.out


def test_a_mistake_does_not_end_the_shell(machine: Machine, api: str, key: str):
    sign_in(machine, api, key)
    machine.variables["STEAD_SITE"] = "site_" + "0" * 26
    answers = [("sql> ", ";"), ("A statement is needed", "select 1;"), ("error: ", "exit")]
    done = machine.at_terminal("db", "shell", answers=answers)
    assert done.code == 0, done.out


async def test_signing_in_again_revokes_the_key_before(machine: Machine, api: str, person: Person, key: str):
    session = person.session.headers["authorization"].removeprefix("Bearer ")
    with Stead(session, base_url=api) as browser:
        before = browser.api_keys.create(name="this machine", scopes=["*", "keys:write"])
        file = Path(machine.environment["HOME"]) / ".config" / "stead" / "config.toml"
        file.parent.mkdir(parents=True)
        stored = {"base_url": api, "api_key": before.secret, "key_id": before.id}
        lines = [f'{name} = "{value}"' for name, value in stored.items()]
        file.write_text("\n".join(["[profiles.default]", *lines]))
        done = machine.stead("login", "--with-key", given=key)
        assert done.code == 0, done.err
        revoked = [each.id for each in browser.api_keys.list() if each.revoked_at]
    assert revoked == [before.id]


async def test_signing_in_survives_the_network(
    proxy: FaultProxy,
    api: str,
    person: Person,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """Also if the response with the key is the one that is lost."""
    # Shorter than what ships: the pauses are seconds.
    monkeypatch.setattr("stead_cli.devices._LONGEST_PAUSE", 0.05)
    proxy.then("pass", "refuse", "429", "429", "429")
    proxy.always = "503"
    signing_in = asyncio.create_task(
        asyncio.to_thread(devices.sign_in, Session({}), proxy.address, opens_browser=False)
    )
    screen = ""
    while (found := re.search(r"compare the code: (\S+)", screen)) is None or proxy.seen < 7:
        assert not signing_in.done(), signing_in.exception()
        await asyncio.sleep(0.05)
        screen += capsys.readouterr().err
    session = person.session.headers["authorization"].removeprefix("Bearer ")
    with Stead(session, base_url=api) as browser:
        await asyncio.to_thread(browser.device_authorizations.approve, found[1])
        proxy.then("lose")
        proxy.always = "pass"
        stored = await asyncio.wait_for(signing_in, 60 * slowdown())
        [left] = [each.id for each in browser.api_keys.list() if not each.revoked_at]
    assert left == stored["key_id"]


def test_what_is_lost_is_typed(machine: Machine, api: str, key: str):
    sign_in(machine, api, key)
    team = machine.stead("teams", "create", "--name", "Gone", "--json").json["team_id"]
    kept = machine.at_terminal("teams", "delete", team, answers=[("to confirm", "something else")])
    assert kept.code == 1
    assert "Nothing was changed" in kept.out
    gone = machine.at_terminal("teams", "delete", team, answers=[("to confirm", team)])
    assert gone.code == 0, gone.out
    assert machine.stead("teams", "list", "--json").json == []


def test_nobody_is_asked_who_does_not_want_to_be(machine: Machine, api: str, key: str):
    sign_in(machine, api, key)
    assert machine.at_terminal("teams", "create", "--no-input").code == 4


def test_an_interruption_has_its_own_exit_code(machine: Machine, api: str, key: str):
    sign_in(machine, api, key)
    done = machine.at_terminal("teams", "create", answers=[("name", CTRL_C)])
    assert done.code == 130, done.out
