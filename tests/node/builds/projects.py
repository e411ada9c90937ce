"""Small projects that tests build."""

import json

_IS_NUMBER = "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="


def package(*, build: str = "", dependencies: dict[str, str] | None = None, **scripts: str) -> str:
    named = {"build": build} if build else {}
    return json.dumps(
        {"name": "site", "private": True, "scripts": named | scripts, "dependencies": dependencies or {}}
    )


def lock(dependencies: dict[str, str] | None = None) -> str:
    """A lock file without addresses, as npm can write it."""
    packages: dict[str, object] = {"": {"name": "site", "dependencies": dependencies or {}}}
    if dependencies and "is-number" in dependencies:
        packages["node_modules/is-number"] = {
            "version": "7.0.0",
            "integrity": _IS_NUMBER,
            "license": "MIT",
            "engines": {"node": ">=0.12.0"},
        }
    return json.dumps({"name": "site", "lockfileVersion": 3, "requires": True, "packages": packages})


ONE = {"is-number": "7.0.0"}


def npm_site(program: str, **files: str) -> dict[str, str]:
    """A project with one dependency, whose build script runs the program."""
    return {
        "package.json": package(build="node build.js", dependencies=ONE),
        "package-lock.json": lock(ONE),
        "build.js": program,
        **files,
    }


def scripted(program: str) -> dict[str, str]:
    """A project without dependencies, so that only the build script runs."""
    return {"package.json": package(build="node build.js"), "build.js": program}


WRITES_A_PAGE = """
const fs = require('fs');
fs.mkdirSync('dist', { recursive: true });
fs.writeFileSync('dist/index.html', process.env.TITLE || 'no title');
"""
