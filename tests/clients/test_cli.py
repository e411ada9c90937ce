"""`stead` without a terminal, as in CI: results, failures, exit codes, and never a question."""

import json
import re
import stat
from pathlib import Path

import pytest

from tests.clients.terminal import Machine
from tests.people import Person


@pytest.fixture
async def machine(tmp_path: Path, api: str, person: Person) -> Machine:
    """Signed in by variables."""
    return Machine(tmp_path, {"STEAD_BASE_URL": api, "STEAD_API_KEY": await person.secret()})


@pytest.fixture
def stranger(tmp_path: Path) -> Machine:
    """A machine on which nobody has signed in."""
    return Machine(tmp_path / "stranger")


def test_the_version_and_the_help_need_nothing(stranger: Machine):
    assert stranger.stead("--version").out == "stead 0.1.0\n"
    for words in ([], ["--help"], ["-h"]):
        shown = stranger.stead(*words)
        assert (shown.code, shown.err) == (0, "")
        assert "deploy" in shown.out
        assert "Exit codes" in shown.out


def test_every_command_has_help(stranger: Machine):
    for words in (["deploy"], ["sites"], ["sites", "create"], ["env", "push"], ["keys", "revoke"]):
        shown = stranger.stead(*words, "--help")
        assert shown.code == 0, shown.err
        assert "Usage: stead" in shown.out


def test_an_unknown_command_is_wrong_usage_with_a_suggestion(stranger: Machine):
    done = stranger.stead("depoly")
    assert (done.code, done.out) == (2, "")
    assert "Did you mean deploy?" in done.err
    assert stranger.stead("sites", "delet").code == 2
    assert stranger.stead("sites", "list", "--nonsense").code == 2


def test_without_a_key_the_fix_is_named(stranger: Machine):
    done = stranger.stead("sites", "list")
    assert (done.code, done.out) == (4, "")
    assert "stead login" in done.err
    told = stranger.stead("sites", "list", "--json")
    assert told.code == 4
    assert told.json["error"]["code"] == "input.needed"
    assert "stead login" in told.json["error"]["fix"]


def test_signing_in_stores_the_key_for_its_owner_only(machine: Machine, stranger: Machine, person: Person):
    key, address = machine.variables["STEAD_API_KEY"], machine.variables["STEAD_BASE_URL"]
    wrong = stranger.stead("login", "--base-url", address, given="stead_live_wrong\n")
    assert wrong.code == 4
    done = stranger.stead("login", "--base-url", address, "--with-key", given=f"{key}\n")
    assert done.code == 0, done.err
    file = Path(stranger.environment["HOME"]) / ".config" / "stead" / "config.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    who = stranger.stead("whoami", "--json").json
    assert who["account"] == person.id
    assert key not in json.dumps(who)
    assert stranger.stead("doctor").code == 0
    assert stranger.stead("logout").code == 0
    assert key not in file.read_text()
    assert stranger.stead("whoami").code == 4


def test_a_key_is_not_sent_to_another_installation(machine: Machine, stranger: Machine):
    key, address = machine.variables["STEAD_API_KEY"], machine.variables["STEAD_BASE_URL"]
    stranger.stead("login", "--base-url", address, "--with-key", given=key)
    link = stranger.work / ".stead" / "project.json"
    link.parent.mkdir()
    link.write_text('{"site_id": "site_1", "base_url": "http://127.0.0.1:1"}')
    done = stranger.stead("sites", "list")
    assert done.code == 4
    assert "not signed in" in done.err


def test_results_go_to_stdout_and_talk_to_stderr(machine: Machine):
    made = machine.stead("teams", "create", "--name", "Ours")
    assert made.code == 0, made.err
    table = machine.stead("teams", "list")
    assert "Ours" in table.out
    assert table.out.splitlines()[0].startswith("NAME")
    assert [team["name"] for team in machine.stead("teams", "list", "--json").json] == ["Ours"]
    assert machine.stead("sites", "list").out == ""
    assert machine.stead("sites", "list", "--json").json == []


def test_failures_have_exit_codes_that_mean_something(machine: Machine):
    nothing = machine.stead("sites", "get", "--site", "site_" + "0" * 26, "--json")
    assert nothing.code == 5
    assert nothing.json["error"]["code"] == "site.not_found"
    assert nothing.json["error"]["request_id"].startswith("req_")
    shown = machine.stead("sites", "get", "--site", "site_" + "0" * 26)
    assert "error: " in shown.err
    assert "request_id: req_" in shown.err
    assert machine.stead("sites", "get", "--site", "nobody.example.com").code == 5
    wrong = machine.stead("teams", "create", "--name", "")
    assert wrong.code == 1
    assert "field: name" in wrong.err
    machine.variables["STEAD_BASE_URL"] = "http://127.0.0.1:1"
    assert machine.stead("sites", "list").code == 8


async def test_a_key_that_may_not_is_refused(machine: Machine, person: Person):
    machine.variables["STEAD_API_KEY"] = await person.secret("account:read")
    assert machine.stead("sites", "list").code == 6


def test_what_is_missing_is_named_instead_of_asked(machine: Machine):
    done = machine.stead("teams", "create")
    assert done.code == 4
    assert "--name" in done.err
    assert machine.stead("init").code == 4
    assert machine.stead("link").code == 4
    assert machine.stead("deploy").code == 4


def test_what_is_lost_must_be_named(machine: Machine):
    team = machine.stead("teams", "create", "--name", "Gone", "--json").json["team_id"]
    refused = machine.stead("teams", "delete", team)
    assert refused.code == 4
    assert f"--confirm {team}" in refused.err
    assert machine.stead("teams", "delete", team, "--confirm", "another").code == 2
    assert [each["team_id"] for each in machine.stead("teams", "list", "--json").json] == [team]
    assert machine.stead("teams", "delete", team, "--confirm", team).code == 0
    assert machine.stead("teams", "list", "--json").json == []


def test_a_job_can_be_left_alone(machine: Machine):
    done = machine.stead(
        "sites",
        "create",
        "--domain",
        f"{machine.folder.name}.example.com".replace("_", "-"),
        "--sites-profile",
        "static",
        "--detach",
    )
    assert done.code == 0, done.err
    job = done.out.strip()
    assert job.startswith("job_")
    late = machine.stead("follow", job, "--timeout", "0.2", "--json")
    assert late.code == 8
    assert late.json["error"]["job_id"] == job
    assert machine.stead("jobs", "cancel", job).code == 0


def test_any_request_can_be_sent(machine: Machine):
    assert json.loads(machine.stead("api", "GET", "/teams", "--query", "limit=1").out)["data"] == []
    made = machine.stead("api", "post", "/v1/teams", "--data", '{"name": "raw"}')
    assert json.loads(made.out)["data"]["team_id"].startswith("team_")
    assert machine.stead("api", "GET", "/nowhere").code == 5
    assert machine.stead("api", "POST", "/teams", "--data", "{").code == 2


def test_secrets_come_from_files_and_never_from_flags(machine: Machine):
    assert "--password-file" in machine.stead("accounts", "sign-up", "--help").out
    assert " --password " not in machine.stead("accounts", "sign-up", "--help").out


def test_commands_of_both_kinds_are_in_one_group(stranger: Machine):
    for words, shown in {
        "logs --help": "--follow",
        "logs tail --help": "Usage: stead logs tail",
        "insights --help": "web vitals",
        "insights requests --help": "--follow",
        "fn --help": "rollback",
        "fn deploy --help": "from one source file",
        "functions deploy --help": "FUNCTION_ID",
        "db --help": "execute",
        "webhooks listen --help": "--forward-to",
    }.items():
        done = stranger.stead(*words.split())
        assert done.code == 0, done.err
        assert shown in done.out, words


def test_a_function_begins_with_a_file(stranger: Machine):
    made = stranger.stead("fn", "new", "hello", "--typescript")
    assert made.out == "hello/function.ts\n"
    assert "export default" in (stranger.work / "hello" / "function.ts").read_text()
    assert stranger.stead("fn", "new", "hello", "--typescript").code == 7, "it is not replaced"
    assert stranger.stead("fn", "new", "Not A Name").code == 2
    nothing = stranger.stead("fn", "deploy", ".", "--json")
    assert nothing.code == 2
    assert "function.js" in nothing.json["error"]["fix"]


def test_without_a_site_the_flag_is_named(machine: Machine):
    for words in (
        ["logs"],
        ["insights"],
        ["backup"],
        ["restore"],
        ["db", "export"],
        ["wp", "plugin"],
        ["ssh"],
    ):
        done = machine.stead(*words)
        assert done.code == 4, words
        assert "--site" in done.err


def test_events_are_forwarded_until_the_time_is_over(machine: Machine):
    done = machine.stead("webhooks", "listen", "--seconds", "0.1", "--json")
    assert (done.code, done.out) == (0, ""), done.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete(machine: Machine, shell: str):
    assert "_STEAD_COMPLETE" in machine.stead("completion", shell).out
    current = "sit" if shell == "fish" else "1"
    machine.variables |= {"COMP_WORDS": "stead sit", "COMP_CWORD": current}
    machine.variables["_STEAD_COMPLETE"] = f"{shell}_complete"
    completed = machine.stead()
    assert "sites" in re.split(r"[\s,]+", completed.out)
    assert "Exit codes" not in completed.out, "it is not the page of help"


def test_text_from_elsewhere_does_not_control_the_terminal(machine: Machine):
    machine.stead("teams", "create", "--name", "a\x1b[2Jb")
    assert "\x1b" not in machine.stead("teams", "list").out
