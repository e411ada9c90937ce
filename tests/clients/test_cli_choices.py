"""Which installation, profile, site and environment `stead` is about, and what it says if it cannot know."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stead_cli import settings
from stead_cli.addresses import has_same_origin
from tests.clients.terminal import Machine
from tests.clients.tls_server import answering

PAGE = {"next_cursor": None, "has_more": False}


def _answer(data: object) -> dict[str, object]:
    return {"data": data, "request_id": "req_1", "pagination": PAGE}


def _environment(id_: str, type_: str, branch: str) -> dict[str, str]:
    return {"id": id_, "type": type_, "branch": branch, "subdomain": f"{branch}-shop.preview.example.com"}


STAGING = _environment("env_1", "staging", "main")
ONE, TWO = _environment("env_2", "preview", "one"), _environment("env_3", "preview", "two")
ANSWERS: dict[str, Any] = {
    "/v1/rate-limits": _answer({"buckets": []}),
    "/v1/account": _answer({"id": "client_1", "email": "ada@example.com"}),
    "/v1/sites": _answer([{"id": "site_1", "domain": "shop.example.com", "slug": "shop"}]),
    "/v1/sites/site_1": _answer({"id": "site_1", "domain": "shop.example.com", "slug": "shop"}),
    "/v1/sites/site_1/environments": _answer([STAGING, ONE, TWO]),
    "/v1/sites/site_1/environments/env_1": _answer(STAGING),
    "/v1/sites/site_1/environments/env_2": _answer(ONE),
    "/v1/sites/site_2/environments/production": _answer({"id": "env_9", "type": "production"}),
    "/v1/teams": ["a page of the network"],
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with answering(ANSWERS) as found:
        yield found


@pytest.fixture
def machine(tmp_path: Path, address: str) -> Machine:
    """Signed in by variables."""
    variables = {"STEAD_API_KEY": "stead_live_x", "STEAD_BASE_URL": address, "STEAD_SITE": "site_1"}
    return Machine(tmp_path, variables)


def _link(machine: Machine, **link: str) -> None:
    file = machine.work / ".stead" / "project.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(link))


def _sign_in(machine: Machine, address: str, key: str, *more: str) -> None:
    done = machine.stead("login", "--base-url", address, "--with-key", *more, given=key)
    assert done.code == 0, done.err


def _elsewhere(address: str) -> str:
    """The same server by another name: to the program, another installation."""
    return address.replace("127.0.0.1", "localhost")


@pytest.mark.parametrize(("name", "id_"), [("staging", "env_1"), ("one", "env_2"), ("env_2", "env_2")])
def test_an_environment_has_names(machine: Machine, name: str, id_: str):
    found = machine.stead("env", "get", "--env", name, "--json")
    assert (found.code, found.json["id"]) == (0, id_), found.out


def test_what_could_be_meant_is_named(machine: Machine):
    nothing = machine.stead("env", "get", "--env", "nothing")
    assert nothing.code == 5
    assert "production, main (env_1), one (env_2), two (env_3)" in nothing.err
    several = machine.stead("env", "get", "--env", "preview", "--json")
    assert (several.code, several.json["error"]["code"]) == (2, "environment.ambiguous")
    assert "one (env_2), two (env_3)" in several.json["error"]["fix"]


def test_the_linked_environment_is_that_of_the_linked_site(machine: Machine, address: str):
    machine.variables.pop("STEAD_SITE")
    _link(machine, site_id="site_1", domain="shop.example.com", env_id="env_1", base_url=address)
    assert machine.stead("env", "get", "--json").json["id"] == "env_1"
    assert machine.stead("env", "get", "--site", "shop.example.com", "--json").json["id"] == "env_1"
    assert machine.stead("env", "get", "--site", "site_2", "--json").json["id"] == "env_9"


def test_what_is_lost_is_named_as_people_call_it(machine: Machine, address: str):
    environment = machine.stead("env", "destroy", "--env", "staging")
    assert environment.code == 4
    assert "(staging of site_1)" in environment.err
    assert "--confirm staging" in environment.err
    machine.variables.pop("STEAD_SITE")
    _link(machine, site_id="site_1", domain="nothing-of-value.example.com", base_url=address)
    machine.variables.pop("STEAD_API_KEY")
    _sign_in(machine, address, "stead_live_x")
    site = machine.stead("sites", "delete", "--confirm-domain", "shop.example.com")
    assert site.code == 4
    assert "Delete a site (shop.example.com)" in site.err, "not as the link calls it"


def test_the_profile_is_that_of_the_linked_installation(tmp_path: Path, address: str):
    machine, other = Machine(tmp_path), _elsewhere(address)
    _sign_in(machine, address, "stead_live_first")
    _sign_in(machine, other, "stead_live_other", "--profile", "other")
    _link(machine, site_id="site_1", base_url=other)
    who = machine.stead("whoami", "--json").json
    assert (who["profile"], who["base_url"], who["key"][-4:]) == ("other", other, "ther")
    chosen = machine.stead("whoami", "--profile", "default")
    assert chosen.code == 4
    assert "profile default" in chosen.err
    _sign_in(machine, address, "stead_live_again")
    assert settings_of(machine)["other"]["api_key"] == "stead_live_other", "another installation is meant"
    assert settings_of(machine)["default"]["api_key"] == "stead_live_again"
    machine.variables["STEAD_BASE_URL"] = f"{address}/"
    assert machine.stead("whoami", "--json").json["profile"] == "default"


def settings_of(machine: Machine) -> dict[str, dict[str, str]]:
    import tomllib

    file = Path(machine.environment["HOME"]) / ".config" / "stead" / "config.toml"
    found: dict[str, dict[str, str]] = tomllib.loads(file.read_text())["profiles"]
    return found


def test_a_folder_does_not_choose_where_the_key_of_a_variable_goes(tmp_path: Path, address: str):
    machine, other = Machine(tmp_path), _elsewhere(address)
    _sign_in(machine, address, "stead_live_first")
    _sign_in(machine, other, "stead_live_other", "--profile", "other")
    machine.variables["STEAD_API_KEY"] = "stead_live_variable"
    assert machine.stead("whoami").code == 0
    _link(machine, site_id="site_1", base_url=other)
    refused = machine.stead("whoami")
    assert refused.code == 4
    assert "STEAD_BASE_URL" in refused.err
    assert machine.stead("whoami", "--profile", "other").code == 0


def test_nobody_waits_for_a_key_that_nobody_types(tmp_path: Path, address: str):
    done = Machine(tmp_path).stead("login", "--base-url", address, given="stead_live_x")
    assert done.code == 4
    assert "--with-key" in done.err


def test_a_profile_may_have_any_name(tmp_path: Path, address: str):
    machine = Machine(tmp_path)
    for name in ("😀", 'a"b\\', "\x7f"):
        _sign_in(machine, address, "stead_live_x", "--profile", name)
    assert settings_of(machine).keys() == {"😀", 'a"b\\', "\x7f"}


def test_changes_of_the_settings_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def add(name: str) -> None:
        with settings.changing_profiles() as profiles:
            profiles[name] = {"base_url": "https://x"}

    threads = [threading.Thread(target=add, args=(f"p{each}",)) for each in range(8)]
    with settings.changing_profiles() as profiles:
        for thread in threads:
            thread.start()
        profiles["first"] = {}
    for thread in threads:
        thread.join()
    assert len(settings.read_profiles()) == 9


@pytest.mark.parametrize(
    "words",
    [
        ["accounts", "sign-up", "--email", "a@example.com", "--password-file", "nope.txt"],
        ["api", "POST", "/teams", "--data", "@nope.txt"],
        ["teams", "create", "--body", "@nope.txt"],
    ],
)
def test_a_file_that_is_missing_is_named(machine: Machine, words: list[str]):
    done = machine.stead(*words)
    assert done.code == 2
    assert "nope.txt" in done.err
    (machine.work / "nope.txt").write_bytes(b"\xff\xfe")
    assert "UTF-8" in machine.stead(*words).err


def test_a_page_of_the_network_is_no_answer(machine: Machine):
    for words in (["teams", "list"], ["teams", "get", "team_1"]):
        ANSWERS["/v1/teams/team_1"] = ANSWERS["/v1/teams"]
        done = machine.stead(*words, "--json")
        assert (done.code, done.json["error"]["code"]) == (8, "connection"), words


def test_a_name_can_be_given_twice_in_a_query(machine: Machine):
    machine.variables["STEAD_DEBUG"] = "api"
    done = machine.stead("api", "GET", "/account", "--query", "a=1", "--query", "a=x&y")
    assert done.code == 0, done.err


def test_links_of_others_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "shared" / "work"
    folder.mkdir(parents=True)
    settings.write_link(folder.parent, {"site_id": "site_1"})
    found = settings.find_link(str(folder))
    assert found is not None
    assert found[1] == {"site_id": "site_1"}
    owner = (folder.parent / ".stead" / "project.json").stat().st_uid
    monkeypatch.setattr("os.getuid", lambda: owner + 1)
    assert settings.find_link(str(folder)) is None


def test_a_link_is_not_for_the_repository(tmp_path: Path):
    subprocess.run(["git", "-C", str(tmp_path), "init", "--quiet"], check=True)  # noqa: S607
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / ".gitignore").write_bytes(b"caf\xe9")
    for _ in range(2):
        settings.write_link(folder, {"site_id": "site_1"})
    assert (folder / ".gitignore").read_bytes() == b"caf\xe9\n.stead/\n"
    (tmp_path / ".gitignore").write_text(".stead\n")
    settings.write_link(tmp_path / ".", {"site_id": "site_1"})
    assert (tmp_path / ".gitignore").read_text() == ".stead\n"


def test_an_address_that_browsers_read_differently_is_refused(machine: Machine):
    assert not has_same_origin("https://evil.example\\@api.example.com/device", "https://api.example.com")
    assert not has_same_origin("https://a@api.example.com/device", "https://api.example.com")
    for address in ("http://127.evil.example", "https://evil.example\\@api.example.com"):
        machine.variables["STEAD_BASE_URL"] = address
        assert machine.stead("whoami").code == 2, address
