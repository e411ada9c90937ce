"""What the documentation names exists: variables, commands, paths of the API, metrics, files and sections.

Decisions are a record of their time, so only their links are checked.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from stead.control.features import all_operations
from stead.control.settings import Settings as ControlSettings
from stead.edge.settings import EdgeSettings, SharedMemory
from stead.node.settings import Settings as NodeSettings
from stead.node.ssh.gateway.settings import GatewaySettings
from stead.repositories.settings import RepositoriesSettings
from stead.steadctl import app
from stead_cli.overview import INSIDE, WRITTEN
from stead_cli.tree import GROUPS
from tests.monitoring.declarations import all_declared, series_names

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")],
    key=lambda page: page.name,
)
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
CONTINUATIONS = {"insights-examples.md"}  # linked from the page that they belong to
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

VARIABLE = re.compile(r"\bSTEAD_[A-Z0-9_]*[A-Z0-9]\b(?!_?…)")
COMMAND = re.compile(r"\bsteadctl((?: [a-z][a-z-]*)+)")
CLIENT_COMMAND = re.compile(r"^(?:\$ )?stead((?: [a-z][a-z-]*)+)")
REQUEST = re.compile(
    r"(?<![\w-])(?:-X )?(GET|POST|PUT|PATCH|DELETE) \"?"
    r"(?:\$STEAD_BASE_URL|https://stead\.example)?(/v1/[^\s`\"?,|(]+|…/[^\s`\"?,|(]+)"
)
EXAMPLE_ID = re.compile(r"[a-z]+_[0-9a-z]{26}|[0-9a-f]{32}")
METRIC = re.compile(r"\bstead_[a-z_]+_(?:total|seconds|bytes|waiting|running|skipped|connected|up)\b")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
REASON = re.compile(r"[\"'`](function_[a-z_]+)[\"'`]")
SOURCE_FILE = re.compile(r"`((?:src|tests|migrations|monitoring|bench)/[\w./-]+)`")

NEED_NO_DOCUMENTATION = {
    "STEAD_KEEP_SITES_RUNNING",  # for `steadctl dev` only
    "STEAD_EDGE_LUA",  # the path of our own files
    "STEAD_EDGE_DATA",  # another name of STEAD_NODE_DATA
    "STEAD_EDGE_NODE_ID",  # another name of STEAD_NODE_ID
    "STEAD_EDGE_MEMORY",  # its fields have variables of their own
}


def variables_of_settings() -> set[str]:
    shapes = {
        "STEAD_": (ControlSettings, NodeSettings, GatewaySettings, RepositoriesSettings),
        "STEAD_EDGE_": (EdgeSettings,),
        "STEAD_EDGE_MEMORY_": (SharedMemory,),
    }
    return {
        f"{prefix}{field.upper()}"
        for prefix, kinds in shapes.items()
        for kind in kinds
        for field in kind.__struct_fields__
    }


@cache
def variables_in_code() -> frozenset[str]:
    """Of everything that is not documentation."""
    suffixes = (".py", ".lua", ".conf", ".php", "Makefile")
    files = [
        ROOT / "Makefile",
        *(path for name in ("src", "tests", "bench") for path in (ROOT / name).rglob("*")),
        *(ROOT / "clients" / "cli").rglob("*.py"),
        *(ROOT / "clients" / "python").rglob("*.py"),
    ]
    found: set[str] = set()
    for file in files:
        if file.name.endswith(suffixes) and file != Path(__file__):
            found.update(VARIABLE.findall(file.read_text(errors="replace")))
    return frozenset(found)


def commands(command: Any, path: str = "") -> Iterator[tuple[str, bool]]:
    """Every command by its full name, and whether it has commands of its own."""
    children: dict[str, Any] = getattr(command, "commands", {})
    yield path, bool(children)
    for name, child in children.items():
        yield from commands(child, f"{path} {name}".strip())


COMMANDS = dict(commands(get_command(app)))


def is_command(words: list[str]) -> bool:
    """Whether the text after `steadctl` begins with a command. More words may be arguments, or prose."""
    if not words or words[0] not in COMMANDS:
        return False
    return not COMMANDS[words[0]] or len(words) == 1 or " ".join(words[:2]) in COMMANDS


def code_of(text: str) -> list[str]:
    """The blocks and spans of code. Prose may continue after a command."""
    blocks = re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [*(line for block in blocks for line in block.splitlines()), *re.findall(r"`([^`\n]+)`", rest)]


def anchors_of(page: Path) -> set[str]:
    """The names of its sections, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_every_variable_of_a_page_is_read_by_a_program(page: Path):
    known = variables_of_settings() | variables_in_code()
    assert set(VARIABLE.findall(page.read_text())) <= known


def test_every_setting_is_documented():
    documented = {variable for page in PAGES for variable in VARIABLE.findall(page.read_text())}
    assert variables_of_settings() - documented - NEED_NO_DOCUMENTATION == set()


@each_page
def test_every_command_of_a_page_exists(page: Path):
    named = [found.split() for code in code_of(page.read_text()) for found in COMMAND.findall(code)]
    assert [words for words in named if not is_command(words)] == []


@each_page
def test_every_command_of_the_client_exists(page: Path):
    named = [found.split() for code in code_of(page.read_text()) for found in CLIENT_COMMAND.findall(code)]
    assert [words for words in named if not is_client_command(words)] == []


def is_client_command(words: list[str]) -> bool:
    """Whether the text after `stead` begins with a command. More words may be arguments."""
    first, second = words[0], words[1] if len(words) > 1 else None
    if first in WRITTEN:
        return True
    group, written = INSIDE.get(first, (first, {}))
    return group in GROUPS and (second is None or second in GROUPS[group] or second in written)


def test_every_command_of_the_client_is_documented():
    text = (ROOT / "docs" / "cli.md").read_text()
    wanted = [*WRITTEN, *(f"{group} {name}" for group, (_, names) in INSIDE.items() for name in names)]
    assert [name for name in wanted if f"stead {name}" not in text] == []


def test_every_command_is_documented():
    text = "\n".join(page.read_text() for page in PAGES)
    complete = [name for name, has_more in COMMANDS.items() if not has_more and name != "generate"]
    assert "make generate" in text
    assert [name for name in complete if f"steadctl {name}" not in text] == []


@each_page
def test_every_request_of_a_page_is_an_operation(page: Path):
    """Except those whose path is computed by a command."""
    requests = {found for found in REQUEST.findall(page.read_text()) if not found[1].endswith("$")}
    assert [request for request in sorted(requests) if not is_operation(*request)] == []


def is_operation(method: str, path: str) -> bool:
    """`…/` stands for any beginning. A variable, a parameter and an id match any parameter; a name matches
    itself, or a parameter that it is a value of."""
    segments = path.rstrip("/").split("/")
    return any(
        operation.method == method and matches(segments, operation.path.split("/"))
        for operation in all_operations()
    )


def matches(segments: list[str], declared: list[str]) -> bool:
    if segments[0] == "…":
        segments, declared = segments[1:], declared[len(declared) - len(segments) + 1 :]
    return len(segments) == len(declared) and all(
        written == wanted
        or (wanted.startswith("{") and written.startswith(("{", "$", "<")))
        or (wanted.startswith("{") and EXAMPLE_ID.fullmatch(written) is not None)
        or (wanted.startswith("{") and not wanted.endswith("_id}"))
        or (wanted == "{env_id}" and written in ("production", "staging"))
        for written, wanted in zip(segments, declared, strict=True)
    )


@each_page
def test_every_metric_of_a_page_is_declared(page: Path):
    declared = {name for metric in all_declared() for name in (metric.name, *series_names(metric))}
    assert set(METRIC.findall(page.read_text())) <= declared


def test_every_reason_of_a_failed_function_is_documented():
    sources = [
        *(ROOT / "src/stead/node/functions").rglob("*.py"),
        *(ROOT / "src/stead/edge/lua").rglob("*.lua"),
    ]
    # The compiler refuses with it, and no visitor gets it.
    reasons = {reason for source in sources for reason in REASON.findall(source.read_text())} - {
        "function_invalid"
    }
    documented = set(REASON.findall((ROOT / "docs" / "functions.md").read_text()))
    assert "function_time_limit" in reasons
    assert reasons <= documented


@each_page
def test_every_source_file_of_a_page_exists(page: Path):
    named = SOURCE_FILE.findall(page.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path):
    broken = []
    for link in LINK.findall(page.read_text()):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


def test_the_readme_lists_every_document():
    listed = set(LINK.findall((ROOT / "README.md").read_text()))
    missing = {page.name for page in PAGES if str(page.relative_to(ROOT)) not in listed}
    assert missing == {"README.md", *CONTINUATIONS}


def test_no_table_has_a_row_twice():
    repeated = []
    for page in PAGES:
        rows: list[str] = []
        for line in [*page.read_text().splitlines(), ""]:
            if line.startswith("| "):
                # An empty first cell continues the row before.
                rows += [] if line.startswith("| |") else [line]
            else:
                repeated += [f"{page.name}: {row}" for row in set(rows) if rows.count(row) > 1]
                rows = []
    assert repeated == []
