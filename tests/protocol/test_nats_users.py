"""What `steadctl nodes nats-users` prints is the configuration of a real server."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stead.dev.engines.nats import Nats, render_config
from stead.dev.supervised_program import locate_executable
from stead.steadctl import app

PASSWORDS = {"NATS_OPERATOR": "o", "NATS_API": "a", "NATS_WORKER": "w", "NATS_NODE_NODE_7": "n"}


def printed(*nodes: str) -> str:
    done = CliRunner().invoke(app, ["nodes", "nats-users", *nodes])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_users_are_those_of_a_development_installation(tmp_path: Path) -> None:
    plain = re.sub(r"\$(NATS_\w+)", lambda found: json.dumps(PASSWORDS[found[1]]), printed("node-7"))
    names = {"operator": "o", "api": "a", "worker": "w", "node-node-7": "n"}
    made = json.loads(render_config(1, tmp_path, names))["authorization"]["users"]
    read = json.loads(f"{{{plain}}}")["authorization"]["users"]
    assert sorted(read, key=lambda user: str(user["user"])) == made


@pytest.mark.parametrize("missing", [None, *PASSWORDS])
def test_a_server_starts_only_with_a_password_of_every_user(tmp_path: Path, missing: str | None) -> None:
    (tmp_path / "users.conf").write_text(printed("node-7"))
    (tmp_path / "server.conf").write_text("include users.conf\n")
    given = {name: password for name, password in PASSWORDS.items() if name != missing}
    checked = subprocess.run(
        [locate_executable("nats-server", Nats.packages), "-t", "--config", str(tmp_path / "server.conf")],
        env=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (checked.returncode == 0) == (missing is None), checked.stderr


@pytest.mark.parametrize("names", [["*"], ["a-b", "a_b"], ["n", "N"]])
def test_a_node_never_gets_the_messages_or_the_password_of_another_one(names: list[str]) -> None:
    assert CliRunner().invoke(app, ["nodes", "nats-users", *names]).exit_code == 2
