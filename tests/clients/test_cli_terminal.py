"""`stead` at a terminal: it asks, hides what is secret, and takes no for an answer."""

import re
from pathlib import Path

import pytest

from stead_sdk import Stead
from tests.clients.terminal import CTRL_C, Machine
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
