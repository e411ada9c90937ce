"""A project to build: one small dependency, and a script that makes a page with it."""

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.git_server import Repository

_PACKAGE = {
    "name": "shop",
    "version": "1.0.0",
    "private": True,
    "scripts": {"build": "node build.js"},
    "dependencies": {"is-number": "7.0.0"},
}
_BUILD = """
const fs = require("fs");
const isNumber = require("is-number");
fs.mkdirSync("dist", { recursive: true });
const words = fs.readFileSync("words.txt", "utf8").trim();
fs.writeFileSync("dist/index.html", `<h1>${words}</h1><p>${isNumber("42")}</p>\\n`);
console.log(`made a page of ${words.length} letters`);
console.log(`for ${process.env.STEAD_URL} from ${process.env.STEAD_COMMIT}`);
"""


@cache
def lockfile() -> str:
    """Written by npm, so that it names the registry of this machine."""
    with TemporaryDirectory() as place:
        Path(place, "package.json").write_text(json.dumps(_PACKAGE))
        subprocess.run(
            ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"],  # noqa: S607
            cwd=place,
            check=True,
            capture_output=True,
            timeout=120,
        )
        return Path(place, "package-lock.json").read_text()


def write(
    repository: Repository, words: str, *, branch: str = "main", files: Mapping[str, str] | None = None
) -> str:
    """Commit a version of the site that shows these words. `files` are added, or replace its own."""
    return repository.commit(
        branch,
        **{
            "package.json": json.dumps(_PACKAGE),
            "package-lock.json": lockfile(),
            "build.js": _BUILD,
            "words.txt": words,
            **(files or {}),
        },
    )
