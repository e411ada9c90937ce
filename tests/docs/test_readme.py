"""What the README tells a newcomer to type works as it stands."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEADCTL = [sys.executable, "-m", "stead.steadctl"]
BLOCK = re.compile(r"<!-- run -->\n```sh\n(.*?)```", re.DOTALL)
START_BOUND, BLOCK_BOUND = 120.0, 60.0


@pytest.fixture(scope="module")
def stack() -> Iterator[dict[str, str]]:
    """The variables of a stack that `steadctl dev up` started."""
    with tempfile.TemporaryDirectory(prefix="stead-readme-") as scratch:
        Path(scratch).chmod(0o711)
        data = f"{scratch}/data"
        log = Path(scratch, "up.log")
        with log.open("wb") as output:
            up = subprocess.Popen([*STEADCTL, "dev", "up", "--data", data], stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + START_BOUND
            while "\ncurl " not in log.read_text():
                assert up.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            told = subprocess.run(
                [*STEADCTL, "dev", "env", "--data", data], capture_output=True, text=True, check=True
            )
            yield dict(re.findall(r"export (\w+)=(\S+)", told.stdout))
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(timeout=60)


def test_every_command_of_the_readme_does_what_it_says(stack: dict[str, str]):
    account, site, folder, redirect, key = (
        subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", block],
            env={**os.environ, **stack},
            capture_output=True,
            text=True,
            timeout=BLOCK_BOUND,
            check=True,
        ).stdout
        for block in BLOCK.findall((ROOT / "README.md").read_text())
    )
    assert '"email":"you@stead.localhost"' in account
    assert "event: done" in site
    assert '{"status":"succeeded"}' in site
    assert "ready for its first deployment" in site
    assert '{"status":"succeeded"}' in folder
    assert folder.endswith("<h1>Hello from a folder</h1>\n")
    assert '{"status":"succeeded"}' in redirect
    assert redirect.endswith("\nhttps://hello.example.com/new/page\n")
    assert '"remaining"' in key
    assert key.rstrip().rpartition("}{")[2].count('"auth.revoked"') == 1
