"""The program `stead` on a machine that has only Python: sign in, publish a folder, roll back, look.

Once at a terminal, and once without one, as in CI.
"""

import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from html import unescape
from pathlib import Path

import httpx
import pytest

from stead.dev.running_stack import RunningStack
from tests.clients.screenshots import save_screenshot
from tests.clients.terminal import CTRL_C, Answer, Machine
from tests.journeys.visitor import Visitor
from tests.journeys.wordpress_site import WordPressSite
from tests.patience import slowdown, time_limit

BOUND = 240.0
QUICKSTART_SECONDS = 60.0
"""From an installation to a folder that is live."""
CLIENTS, PACKAGES = Path(__file__).parents[2] / "clients", ("python", "cli")


def approve(screen: str, stack: RunningStack) -> None:
    """What a person does in the browser."""
    account = stack.secrets.account
    found = re.search(r"Open (\S+/device\?code=(\S+))", screen)
    assert account is not None
    assert found is not None, screen
    with httpx.Client(base_url=stack.api.url, timeout=60) as browser:
        assert found[2] in browser.get("/device", params={"code": found[2]}).text
        form = {"code": found[2], "email": account.email, "password": account.password}
        page = browser.post("/device", data=form)
        ticket = re.search(r'name="ticket" value="([^"]+)"', page.text)
        assert ticket is not None, page.text
        done = browser.post("/device", data={"ticket": unescape(ticket[1]), "decision": "approve"})
        assert "is signed in" in done.text


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


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with `stead`, and nothing else that it does not need."""
    folder = tmp_path_factory.mktemp("only-python") / "venv"
    uv = shutil.which("uv")
    assert uv is not None
    found = folder / "bin" / "python"
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
        [uv, "pip", "install", "--quiet", f"--python={found}", *(str(CLIENTS / name) for name in PACKAGES)],
    ):
        subprocess.run(command, check=True, timeout=BOUND * slowdown())
    return found


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

    approving: list[Answer] = [("compare the code: ", lambda screen: approve(screen, stack))]
    async with time_limit(QUICKSTART_SECONDS):
        await at_terminal("login", "--base-url", stack.api.url, answers=approving)
        await at_terminal("init", answers=[("The domain of the site", host)])
        write_page(machine, "the first version")
        screen = await at_terminal("deploy")
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
    await at_terminal("init", blog, "--type", "vanilla", "--php", "8.2")
    assert "administrator" in await at_terminal("wp", "user", "list")
    await assert_serves(visitor, blog, f"<title>{blog}</title>")
    await at_terminal("logout")


async def test_ci_publishes_a_folder(stack: RunningStack, visitor: Visitor, tmp_path: Path, python: Path):
    account = stack.secrets.account
    assert account is not None
    variables = {"STEAD_BASE_URL": stack.api.url, "STEAD_API_KEY": account.api_key}
    machine, host = Machine(tmp_path, variables, python), "ci.example.com"
    made = await asyncio.to_thread(machine.stead, "init", host, bound=BOUND)
    assert made.code == 0, made.err
    assert made.out.startswith("site_")
    write_page(machine, "from CI")
    done = await asyncio.to_thread(machine.stead, "deploy", bound=BOUND)
    assert (done.code, done.out) == (0, f"https://{host}/\n"), done.err
    await assert_serves(visitor, host, "from CI")
    listed = await asyncio.to_thread(machine.stead, "deployments", "list", "--json")
    assert [each["status"] for each in listed.json] == ["live"]

    async def is_shown() -> bool:
        shown = await asyncio.to_thread(machine.stead, "logs", "--requests", "--json", bound=BOUND)
        assert shown.code == 0, shown.out
        return any(each["path"] == "/" for each in shown.json)

    async with time_limit(120):
        while not await is_shown():  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(1)
    charts = await asyncio.to_thread(machine.stead, "insights", bound=BOUND)
    assert charts.code == 0, charts.err
    assert "Requests, last 24 hours" in charts.out
    (machine.work / "index.html").unlink()
    (machine.work / "stead.json").write_text("{")
    failed = await asyncio.to_thread(machine.stead, "deploy", "--json", bound=BOUND)
    assert failed.code in (1, 3), failed.out
    assert "message" in failed.json["error"]


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
