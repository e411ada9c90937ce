"""Whom `stead` trusts: certificates, addresses, folders of others, and what an installation says."""

import base64
import json
import socket
import stat
from pathlib import Path

import pytest

from stead_cli.addresses import has_same_origin, with_scheme
from tests.clients.terminal import Machine
from tests.clients.tls_server import answering, write_certificate
from tests.clients.tunnel_proxy import tunnel_proxy

LIMITS = {"/v1/rate-limits": {"data": {"buckets": []}, "request_id": "req_1"}}
ACCOUNT = {
    **LIMITS,
    "/v1/account": {"data": {"id": "client_1", "email": "ada@example.com"}, "request_id": "req_2"},
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


def test_an_authority_is_trusted_if_it_is_named(machine: Machine, tmp_path: Path):
    files = write_certificate(tmp_path)
    with answering(ACCOUNT, files) as address:
        machine.variables = {"STEAD_API_KEY": "stead_live_x", "STEAD_BASE_URL": address}
        unknown = machine.stead("whoami")
        assert unknown.code == 8
        assert "certificate" in unknown.err
        known = machine.stead("whoami", "--json", "--ca-file", str(files[0]))
        assert (known.code, known.json["email"]) == (0, "ada@example.com"), known.out
        machine.variables["STEAD_CA_FILE"] = str(files[0])
        assert machine.stead("whoami").code == 0
        missing = machine.stead("whoami", "--ca-file", "no-such-file.pem")
        assert missing.code == 2
        assert "no-such-file.pem" in missing.err


def test_a_proxy_sees_only_the_name_of_the_installation(machine: Machine, tmp_path: Path):
    files = write_certificate(tmp_path)
    known = f"Basic {base64.b64encode(b'ada:secret word').decode()}"
    with answering(ACCOUNT, files) as address, tunnel_proxy(known) as proxy:
        machine.variables = {
            "STEAD_API_KEY": "stead_live_x",
            "STEAD_BASE_URL": address,
            "STEAD_CA_FILE": str(files[0]),
            "HTTPS_PROXY": f"http://ada:secret%20word@{proxy.address}",
        }
        assert machine.stead("whoami").code == 0
        assert {*proxy.wanted} == {f"CONNECT {address.removeprefix('https://')} HTTP/1.1"}
        machine.variables["HTTPS_PROXY"] = f"http://{proxy.address}"
        refused = machine.stead("whoami")
        assert refused.code == 8
        assert "407" in refused.err
        machine.variables["NO_PROXY"] = "127.0.0.1"
        assert machine.stead("whoami").code == 0


def test_signing_in_remembers_the_authority(machine: Machine, tmp_path: Path):
    files = write_certificate(tmp_path)
    (machine.work / "ca.pem").write_bytes(files[0].read_bytes())
    with answering(ACCOUNT, files) as address:
        done = machine.stead(
            *("login", "--base-url", address, "--with-key", "--ca-file", "ca.pem"), given="stead_live_x"
        )
        assert done.code == 0, done.err
        assert machine.stead("whoami").code == 0, "in every folder"


def test_a_key_is_not_sent_where_others_can_read_it(machine: Machine):
    done = machine.stead("login", "--base-url", "http://203.0.113.1", "--with-key", given="stead_live_x")
    assert done.code == 2
    assert "not encrypted" in done.err
    machine.variables = {"STEAD_API_KEY": "stead_live_x", "STEAD_BASE_URL": "http://203.0.113.1"}
    told = machine.stead("whoami", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "address.insecure")


def test_a_folder_of_somebody_else_does_not_get_the_key(machine: Machine):
    """It contains a link to an installation of its author."""
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        theirs.settimeout(0.2)
        address = f"http://127.0.0.1:{theirs.getsockname()[1]}"
        link = machine.work / ".stead" / "project.json"
        link.parent.mkdir()
        link.write_text(json.dumps({"site_id": "site_1", "base_url": address}))
        machine.variables = {"STEAD_API_KEY": "stead_live_x"}
        done = machine.stead("status")
        assert done.code == 4
        assert f"stead login --base-url {address}" in done.err
        with pytest.raises(TimeoutError):
            theirs.accept()


def test_linking_does_not_write_through_links(machine: Machine, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    site = {"id": "site_1", "domain": "example.com", "slug": "s"}
    with answering({"/v1/sites/site_1": {"data": site, "request_id": "req_1"}}) as address:
        machine.variables = {"STEAD_API_KEY": "stead_live_x", "STEAD_BASE_URL": address}
        (machine.work / ".stead").symlink_to(elsewhere)
        assert machine.stead("link", "site_1").code == 1
    assert list(elsewhere.iterdir()) == []


def test_a_name_does_not_control_the_terminal(machine: Machine):
    hostile = "\x1b]0;owned\x07\x1b[2J"
    account = {"id": f"client_{hostile}", "email": f"ada{hostile}@example.com"}
    answers = {**LIMITS, "/v1/account": {"data": account, "request_id": "req_1"}}
    with answering(answers) as address:
        machine.variables = {"STEAD_API_KEY": "stead_live_x", "STEAD_BASE_URL": address}
        for words in (["whoami"], ["whoami", "--json"], ["api", "GET", "/account"]):
            shown = machine.at_terminal(*words)
            assert shown.code == 0, shown.out
            assert "ada" in shown.out
            assert "\x1b" not in shown.out
            assert "\x07" not in shown.out


def test_the_settings_stay_private(machine: Machine):
    """Also if the file was readable before, and if an earlier run was interrupted."""
    folder = Path(machine.environment["HOME"]) / ".config" / "stead"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("")
    (folder / "config.toml").chmod(0o644)
    with answering(ACCOUNT) as address:
        assert machine.stead("doctor").code == 1
        done = machine.stead("login", "--base-url", address, "--with-key", given="stead_live_x")
        assert done.code == 0, done.err
    assert stat.S_IMODE((folder / "config.toml").stat().st_mode) == 0o600
    assert [each.name for each in folder.iterdir()] == ["config.toml"]


def test_an_installation_cannot_have_any_address_opened():
    assert has_same_origin("https://api.example.com/device?code=X", "https://api.example.com")
    assert not has_same_origin("https://api.example.com.evil.example/device", "https://api.example.com")
    assert not has_same_origin("http://api.example.com/device", "https://api.example.com")
    assert with_scheme("api.example.com/") == "https://api.example.com"


def test_a_new_version_is_mentioned_once_a_day(machine: Machine):
    answers = {**ACCOUNT, "/docs/clients.json": {"cli": "9.0.0"}}
    with answering(answers) as address:
        machine.variables = {"STEAD_API_KEY": "stead_live_x", "STEAD_BASE_URL": address}
        assert machine.stead("whoami").err == "", "only people are told"
        assert "9.0.0" not in machine.at_terminal("whoami", "--quiet").out
        assert "stead 9.0.0 is available" in machine.at_terminal("whoami").out
        assert "9.0.0" not in machine.at_terminal("whoami").out
        cache = Path(machine.environment["HOME"]) / ".cache" / "stead"
        [looked] = cache.iterdir()
        looked.unlink()
        answers["/docs/clients.json"] = {"cli": "9.0.0\x1b]0;owned\x07"}
        assert "owned" not in machine.at_terminal("whoami").out
        looked.unlink()
        machine.variables["STEAD_NO_UPDATE_NOTICE"] = "1"
        answers["/docs/clients.json"] = {"cli": "9.0.0"}
        assert "9.0.0" not in machine.at_terminal("whoami").out


def test_a_trace_of_the_requests_contains_no_secret(machine: Machine):
    with answering(ACCOUNT) as address:
        machine.variables = {
            "STEAD_API_KEY": "stead_live_x",
            "STEAD_BASE_URL": address,
            "STEAD_DEBUG": "api",
        }
        done = machine.stead("api", "GET", "/account", "--query", "token=secret")
    assert done.code == 0, done.err
    assert f"GET {address}/v1/account 200" in done.err
    assert "secret" not in done.err
    assert "stead_live_x" not in done.err


def test_every_command_is_listed(machine: Machine):
    listed = {each["command"] for each in machine.stead("commands", "--json").json}
    assert {"stead deploy", "stead fn dev", "stead sites list", "stead logs tail"} <= listed
    assert len(listed) > 260
