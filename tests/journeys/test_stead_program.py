"""The program `stead` on a machine that has only Python: sign in, publish a folder, roll back, look.

Once at a terminal, and once without one, as in CI.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import httpx
import pytest

from stead.dev.running_stack import RunningStack
from tests.clients.approval import approve
from tests.clients.quickstart import COMPARING, documented_commands, install
from tests.clients.screenshots import save_screenshot
from tests.clients.terminal import CTRL_C, Answer, Done, Machine
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import WordPressSite
from tests.patience import time_limit

BOUND = 240.0
QUICKSTART_SECONDS = 60.0
"""From an installation to a folder that is live."""
CHECKOUT = Path(__file__).parents[2]


def write_page(machine: Machine, text: str) -> None:
    (machine.work / "index.html").write_text(f"<h1>{text}</h1>")


async def assert_serves(visitor: Visitor, host: str, text: str) -> None:
    async def serves() -> bool:
        try:
            return text in (await visitor.get(host)).text
        except httpx.HTTPError:
            # Its certificate is on its way.
            return False

    async with time_limit(120):
        while not await serves():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.5)


async def follow_requests(machine: Machine, visitor: Visitor, host: str, path: str) -> str:
    """The line that `stead logs` prints when somebody visits the path."""

    def read(printed: Iterable[str]) -> str:
        return next((line for line in printed if path in line), "")

    with machine.running("logs", "--follow", "--requests", "--json") as (printed, _):
        reading = asyncio.create_task(asyncio.to_thread(read, printed))
        async with time_limit(120):
            while not reading.done():
                await visitor.get(host, path)
                await asyncio.wait({reading}, timeout=1)
        return reading.result()


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with `stead`, installed as documented, and nothing else that it does not need."""
    command = documented_commands("", "")[0]
    return install(command, CHECKOUT, tmp_path_factory.mktemp("only-python"))


async def test_a_person_publishes_a_folder(
    stack: RunningStack, visitor: Visitor, tmp_path: Path, python: Path
):
    machine, host = Machine(tmp_path, python=python), "terminal.example.com"

    def type_(*words: str, answers: Sequence[Answer] = (), code: int = 0) -> str:
        done = machine.at_terminal(*words, answers=answers, bound=BOUND)
        assert done.code == code, done.out
        command = " ".join(["stead", *words])
        save_screenshot(command, done.out, f"stead-{words[0]}", address=stack.api.url)
        return done.out

    async def at_terminal(*words: str, answers: Sequence[Answer] = (), code: int = 0) -> str:
        return await asyncio.to_thread(type_, *words, answers=answers, code=code)

    approving: list[Answer] = [(COMPARING, lambda screen: approve(screen, stack))]
    _, login, init, deploy = (words[1:] for words in documented_commands(stack.api.url, host))
    async with time_limit(QUICKSTART_SECONDS):
        await at_terminal(*login, answers=approving)
        await at_terminal(*init)
        write_page(machine, "the first version")
        screen = await at_terminal(*deploy)
        assert "Uploading" in screen
        assert f"https://{host}/" in screen
        await assert_serves(visitor, host, "the first version")
    write_page(machine, "the second version")
    await at_terminal("deploy", "--prod")
    await assert_serves(visitor, host, "the second version")
    await at_terminal("rollback", answers=[("Roll back", "y")])
    await assert_serves(visitor, host, "the first version")
    assert host in await at_terminal("status")

    def visit(_: str) -> None:
        asyncio.run(visitor.get(host, "/followed"))

    following: list[Answer] = [("Waiting for what is new", visit), ("/followed", CTRL_C)]
    assert "404" in await at_terminal("logs", "--follow", "--requests", answers=following, code=130)
    assert "Requests" in await at_terminal("insights")
    blog = "terminal-blog.example.com"
    (machine.work / ".stead" / "project.json").unlink()
    asked = [("The domain of the site", blog)]
    await at_terminal("init", "--type", "vanilla", "--php", "8.2", answers=asked)
    assert "administrator" in await at_terminal("wp", "user", "list")
    await assert_serves(visitor, blog, f"<title>{blog}</title>")
    await at_terminal("logout")


async def test_ci_publishes_a_folder(stack: RunningStack, visitor: Visitor, tmp_path: Path, python: Path):
    account = stack.secrets.account
    assert account is not None
    machine, host = Machine(tmp_path, {"CI": "true"}, python), "ci.example.com"

    async def run(*words: str, given: str = "", code: int = 0) -> Done:
        done = await asyncio.to_thread(machine.stead, *words, given=given, bound=BOUND)
        assert done.code == code, (done.out, done.err)
        return done

    await run("login", "--with-key", "--base-url", stack.api.url, given=account.api_key)
    assert (await run("init", host)).out.startswith("site_")
    write_page(machine, "from CI")
    assert (await run("deploy")).out == f"https://{host}/\n"
    await assert_serves(visitor, host, "from CI")
    write_page(machine, "again from CI")
    await run("deploy")
    await assert_serves(visitor, host, "again from CI")
    assert "--yes" in (await run("rollback", code=4)).err, "nobody can be asked"
    await run("rollback", "--yes")
    await assert_serves(visitor, host, "<h1>from CI")
    listed = (await run("deployments", "list", "--json")).json
    assert sorted(each["status"] for each in listed) == ["live", "superseded", "superseded"], (
        "a rollback is one, too"
    )
    followed = json.loads(await follow_requests(machine, visitor, host, "/followed-in-ci"))
    assert (followed["method"], followed["status"]) == ("GET", 404)

    async def is_shown() -> bool:
        shown = await run("logs", "--requests", "--json")
        return any(each["path"] == "/" for each in shown.json)

    async with time_limit(120):
        while not await is_shown():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(1)
    assert "Requests, last 24 hours" in (await run("insights")).out
    (machine.work / "index.html").unlink()
    (machine.work / "stead.json").write_text("{")
    failed = await asyncio.to_thread(machine.stead, "deploy", "--json", bound=BOUND)
    assert failed.code in (1, 3), failed.out
    assert "message" in failed.json["error"]


async def test_ci_creates_a_wordpress_site(
    stack: RunningStack, visitor: Visitor, tmp_path: Path, python: Path
):
    account = stack.secrets.account
    assert account is not None
    variables = {"STEAD_BASE_URL": stack.api.url, "STEAD_API_KEY": account.api_key}
    machine, blog = Machine(tmp_path, variables, python), "ci-blog.example.com"
    init = ("init", blog, "--type", "vanilla", "--php", "8.2", "--json")
    made = await asyncio.to_thread(machine.stead, *init, bound=BOUND)
    assert made.code == 0, made.err
    assert made.json["status"] == "running"
    listed = await asyncio.to_thread(machine.stead, "wp", "user", "list", bound=BOUND)
    assert "administrator" in listed.out, listed.err
    await assert_serves(visitor, blog, f"<title>{blog}</title>")


async def test_wordpress_is_worked_on(stack: RunningStack, wordpress_site: WordPressSite, tmp_path: Path):
    account = stack.secrets.account
    assert account is not None
    variables = {
        "STEAD_BASE_URL": stack.api.url,
        "STEAD_API_KEY": account.api_key,
        "STEAD_SITE": wordpress_site.path.rpartition("/")[2],
    }
    machine = Machine(tmp_path, variables)
    name = await asyncio.to_thread(machine.stead, "wp", "option", "get", "siteurl", bound=BOUND)
    assert name.code == 0, name.err
    assert name.out.startswith("https://")
    wrong = await asyncio.to_thread(machine.stead, "wp", "option", "get", "nothing-like-it", bound=BOUND)
    assert wrong.code == 3
    sql = "select count(*) as posts from wp_posts"
    rows = await asyncio.to_thread(machine.stead, "db", "shell", "--execute", sql, bound=BOUND)
    assert rows.code == 0, rows.err
    assert rows.out.startswith("POSTS\n")
    file = machine.work / "export.sql.gz"
    exported = await asyncio.to_thread(machine.stead, "db", "export", str(file), bound=BOUND)
    assert exported.code == 0, exported.err
    assert file.stat().st_size > 1000
    assert file.stat().st_mode & 0o077 == 0, "only its owner can read it"


async def test_a_function_is_live_from_a_file(stack: RunningStack, visitor: Visitor, tmp_path: Path):
    account = stack.secrets.account
    assert account is not None
    machine = Machine(tmp_path, {"STEAD_BASE_URL": stack.api.url, "STEAD_API_KEY": account.api_key})
    made = await asyncio.to_thread(machine.stead, "init", "fn.example.com", "--type", "wasm", bound=BOUND)
    assert made.code == 0, made.err
    assert machine.stead("fn", "new", "hello").code == 0
    done = await asyncio.to_thread(machine.stead, "fn", "deploy", "hello", bound=BOUND)
    assert (done.code, done.out) == (0, "https://fn.example.com/_fn/hello\n"), done.err
    assert (await visitor.get("fn.example.com", "/_fn/hello")).text == "hello from /_fn/hello"
