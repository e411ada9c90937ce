"""All rows and files of a site, to be compared with those of another moment or of another site."""

import hashlib
from typing import Any, Protocol

OPTIONS = (
    "home",
    "siteurl",
    "blogname",
    "admin_email",
    "active_plugins",
    "stylesheet",
    "shape",
    "only",
    "kept",
)
"""WordPress writes others without a request, such as when it last looked for updates."""


class Site(Protocol):
    @property
    def paths(self) -> Any: ...

    def query(self, statement: str) -> list[tuple[Any, ...]]: ...


def fingerprint(site: Site) -> dict[str, Any]:
    names = ", ".join(f"'{name}'" for name in OPTIONS)
    stable = f" where option_name in ({names}) or option_name like 'row %'"
    rows = {
        str(name): site.query(f"select * from {{schema}}.`{name}` order by 1")
        for (name,) in site.query("show tables in {schema}")
        if name != "wp_options"
    }
    # Without their numbers: an option that is kept from another schema gets a new one.
    options = f"select '', option_name, option_value, autoload from {{schema}}.wp_options{stable} order by 2"
    rows["wp_options"] = site.query(options)
    files = {
        str(path.relative_to(site.paths.content)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in site.paths.content.rglob("*")
        if path.is_file() and not path.name.startswith("run-")
    }
    return {"rows": rows, "files": files}


def differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What only one of two fingerprints has, by table."""
    tables = {*one["rows"], *other["rows"]}
    found: dict[str, Any] = {
        name: {*one["rows"].get(name, ())} ^ {*other["rows"].get(name, ())} for name in tables
    }
    found["files"] = {*one["files"].items()} ^ {*other["files"].items()}
    return {name: different for name, different in found.items() if different}
