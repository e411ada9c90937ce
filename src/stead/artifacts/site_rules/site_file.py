"""Reads the rules in `stead.json`. Its JSON Schema is generated from these shapes."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from stead.artifacts.site_rules.headers import parse_headers
from stead.artifacts.site_rules.rules import (
    MAX_HEADER_RULES,
    MAX_HEADERS_PER_RULE,
    MAX_QUERY,
    MAX_REDIRECTS,
    NAME,
    QueryCondition,
    Redirect,
    RuleRefused,
    SiteRules,
    check_redirect,
    parse_pattern,
)

FILE = "stead.json"
Status = Literal[200, 301, 302, 303, 307, 308, 404, 410]
GeneratorName = Literal[
    "next", "sveltekit", "astro", "eleventy", "vite", "hugo", "jekyll", "zensical", "mkdocs", "none"
]
_Path = Annotated[str, Meta(min_length=1, max_length=2000, pattern="^/")]


class RedirectEntry(Struct, rename={"from_": "from"}, forbid_unknown_fields=True):
    """A redirect; with the status 200 a rewrite, which shows another page at the same address."""

    from_: Annotated[
        _Path,
        Meta(
            description="A path. `:name` matches one segment, and `/*` at the end any rest.",
            examples=["/blog/:year/*"],
        ),
    ]
    to: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2000,
            description="A path or, for statuses from 301 to 308, a complete URL. `:name` and `:splat` are"
            " replaced.",
            examples=["/archive/:year/:splat"],
        ),
    ]
    status: Status = 301
    force: Annotated[bool, Meta(description="Whether it comes before a file at its path.")] = False
    query: Annotated[
        dict[str, str],
        Meta(
            max_length=MAX_QUERY,
            description="Query parameters that a request must have. The value `:name` matches any value.",
        ),
    ] = {}


class HeadersEntry(Struct, rename={"for_": "for"}, forbid_unknown_fields=True):
    """Response headers for all paths that match."""

    for_: Annotated[_Path, Meta(description="A path, as in redirects.", examples=["/assets/*"])]
    values: Annotated[
        dict[str, str | None],
        Meta(
            max_length=MAX_HEADERS_PER_RULE,
            description="Headers by name; null removes what an earlier rule has set.",
            examples=[{"Cache-Control": "public, max-age=3600"}],
        ),
    ]


class SiteFile(Struct, forbid_unknown_fields=True, rename={"schema": "$schema"}):
    """Settings of a project on Stead. The settings of builds are read in the root of the source; with `root`
    in that folder, if it has a `stead.json`. The rules are read in the output folder, or in the same file if
    the output folder has no `stead.json`."""

    schema: Annotated[str, Meta(description="The URL of this schema, for editors.")] = ""
    build: Annotated[str, Meta(description="The script of package.json that builds the site.")] = "build"
    command: Annotated[
        str,
        Meta(
            description="The command that builds the site instead of that script, in a shell.",
            examples=["hugo --minify"],
        ),
    ] = ""
    generator: Annotated[
        GeneratorName | Literal[""],
        Meta(description="Which generator it is, if it is not recognized. `none` if it is none of them."),
    ] = ""
    root: Annotated[
        str,
        Meta(
            description="The folder of the project, in a repository with several.", examples=["apps/website"]
        ),
    ] = ""
    watch: Annotated[
        list[str],
        Meta(
            description="With `root`: other folders, and files of the top folder, that the project needs. A"
            " push that changes nothing in them and in `root` is not built.",
            examples=[["packages/design"]],
        ),
    ] = []
    output: Annotated[
        str, Meta(description="The folder of the built site. Without it, usual names are tried.")
    ] = ""
    spa: Annotated[
        bool, Meta(description="Show `/index.html` at every address that has no file and no other rule.")
    ] = False
    redirects: Annotated[list[RedirectEntry], Meta(max_length=MAX_REDIRECTS)] = []
    headers: Annotated[list[HeadersEntry], Meta(max_length=MAX_HEADER_RULES)] = []


def json_schema() -> dict[str, Any]:
    """The schema that is published."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stead.json",
        **msgspec.json.schema(SiteFile),
    }


def read(text: str, into: SiteRules) -> None:
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        into.warn(FILE, "it is not valid JSON, so its rules are ignored")
        return
    if not isinstance(given, dict):
        into.warn(FILE, "it is not a JSON object, so its rules are ignored")
        return
    known = {field.encode_name for field in msgspec.structs.fields(SiteFile)}
    for name in [name for name in given if name not in known][:10]:
        into.warn(FILE, f"there is no setting {name[:40]!a}")
    for index, entry in enumerate(_list(given, "redirects", into)):
        if len(into.redirects) >= MAX_REDIRECTS:
            into.warn(FILE, f"a site has at most {MAX_REDIRECTS} redirects; the rest is ignored")
            break
        _read(entry, f"{FILE} redirects.{index}", RedirectEntry, into)
    for index, entry in enumerate(_list(given, "headers", into)):
        if len(into.headers) >= MAX_HEADER_RULES:
            into.warn(FILE, f"a site has headers for at most {MAX_HEADER_RULES} paths; the rest is ignored")
            break
        _read(entry, f"{FILE} headers.{index}", HeadersEntry, into)
    if given.get("spa") is True and len(into.redirects) < MAX_REDIRECTS:
        into.redirects.append(Redirect(parse_pattern("/*"), "/index.html", 200))
    elif given.get("spa") not in (None, True, False):
        into.warn(FILE, "spa is neither true nor false")


def _list(given: dict[str, Any], name: str, into: SiteRules) -> list[Any]:
    found = given.get(name, [])
    if isinstance(found, list):
        return found
    into.warn(FILE, f"{name} is not a list, so it is ignored")
    return []


def _read(entry: Any, place: str, kind: type[RedirectEntry] | type[HeadersEntry], into: SiteRules) -> None:
    try:
        read_entry = msgspec.convert(entry, kind)
        if isinstance(read_entry, RedirectEntry):
            into.redirects.append(_redirect(read_entry))
        else:
            into.headers.append(parse_headers(read_entry.for_, read_entry.values))
    except msgspec.ValidationError:
        into.warn(place, f"{_expected(kind)}; it is ignored")
    except RuleRefused as refused:
        into.warn(place, f"{refused}; it is ignored")


def _expected(kind: type[Struct]) -> str:
    if kind is RedirectEntry:
        statuses = ", ".join(map(str, get_args(Status)))
        return f"a redirect has from, to and optionally status ({statuses}), force and query"
    return "an entry has for, a path, and values, an object of headers"


def _redirect(entry: RedirectEntry) -> Redirect:
    query = []
    for name, value in entry.query.items():
        placeholder = NAME.fullmatch(value)
        query.append(
            QueryCondition(name, None, placeholder[1]) if placeholder else QueryCondition(name, value)
        )
    pattern = parse_pattern(entry.from_)
    return check_redirect(Redirect(pattern, entry.to, entry.status, entry.force, tuple(query)))
