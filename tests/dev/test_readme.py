"""The commands in the README work as they stand."""

import os
import re
import subprocess
from pathlib import Path

from tests.dev.up import Up, dev
from tests.patience import slowdown

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- run -->\n```sh\n(.*?)```", re.DOTALL)
BLOCK_BOUND = 60.0
"""In seconds, on an idle machine."""


def test_every_command_of_the_readme_does_what_it_says(everything: Up) -> None:
    variables = dict(re.findall(r"export (\w+)=(\S+)", dev(everything.data, "env").stdout))
    first, account, site, folder, redirect, key, blog = (
        subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", block],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=BLOCK_BOUND * slowdown(),
            check=True,
        ).stdout
        for block in BLOCK.findall((ROOT / "README.md").read_text())
    )
    assert "\nhttps://first.example.com/\n" in first
    assert "running" in first
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
    assert '{"status":"succeeded"}' in blog
    assert "<title>blog.example.com</title>" in blog
    assert blog.endswith("\nhttps://blog.example.com/wp-admin/\n")
