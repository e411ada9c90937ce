"""`steadctl` as an operator runs it: without settings, and with those of a running stack."""

import os
import subprocess
import sys

import pytest

BOUND = 60.0
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("STEAD_")}


def steadctl(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stead.steadctl", *words],
        env=PLAIN | settings,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )


@pytest.mark.parametrize(
    "words", [["nodes", "list"], ["artifacts", "list"], ["migrate"], ["api"], ["worker"]], ids=" ".join
)
def test_a_missing_setting_is_named_instead_of_a_traceback(words: list[str]) -> None:
    ended = steadctl(*words)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("steadctl: STEAD_DATABASE_URL is missing")


def test_a_wrong_setting_is_named_instead_of_a_traceback() -> None:
    given = {
        "STEAD_DATABASE_URL": "postgresql://127.0.0.1:1/none",
        "STEAD_REDIS_URL": "redis://127.0.0.1:1/0",
        "STEAD_NATS_URL": "nats://127.0.0.1:1",
        "STEAD_SEALING_KEY": "x",
    }
    ended = steadctl("nodes", "list", **given, STEAD_API_PORT="many")
    assert (ended.returncode, ended.stderr.startswith("steadctl: STEAD_API_PORT: ")) == (1, True)
    ended = steadctl("nodes", "list", **given)
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False)
    assert ended.stderr.startswith("steadctl: the database is unreachable")
