"""A person's browser: headless Chromium, driven through its WebDriver."""

import asyncio
import base64
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.patience import Patience

LOOPBACK = "127.0.0.1"
BOUND = 60.0
_POLL_SECONDS = 0.1
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of elements in the protocol."""
_INTERRUPTED = "ERR_NETWORK_CHANGED"
_ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--window-size=1280,900"),
)


class Browser:
    def __init__(self, client: httpx.AsyncClient, session: str) -> None:
        self._client, self._session = client, session

    async def open(self, url: str) -> None:
        await self._ask("POST", "/url", {"url": url})
        await self._load_again_if_interrupted()

    async def url(self) -> str:
        return str(await self._ask("GET", "/url"))

    async def text(self) -> str:
        """What a person reads on the page."""
        return str(await self.run("return document.body ? document.body.innerText : ''"))

    async def type(self, selector: str, text: str) -> None:
        """Into a field; a path into a field for files."""
        await self._ask("POST", f"/element/{await self.find(selector)}/value", {"text": text})

    async def click(self, selector: str) -> None:
        await self._ask("POST", f"/element/{await self.find(selector)}/click", {})

    async def find(self, selector: str) -> str:
        found = await self.until(
            f"return document.querySelector({selector!r}) ? 1 : null", f"{selector} is on the page"
        )
        assert found
        element = await self._ask("POST", "/element", {"using": "css selector", "value": selector})
        return str(element[_ELEMENT])

    async def run(self, script: str, *arguments: object) -> Any:
        """The value that the script returns. `await` may be used."""
        body = f"return (async function () {{ {script} }}).apply(null, arguments)"
        return await self._ask("POST", "/execute/sync", {"script": body, "args": list(arguments)})

    async def until(self, script: str, what: str, *, within: float = BOUND) -> Any:
        """Wait until the script returns something. While a page loads it may fail."""
        patience, seen = Patience(within), None
        while not patience.is_over:
            try:
                if seen := await self.run(script):
                    return seen
            except ScriptFailed as error:
                seen = error
            await self._load_again_if_interrupted()
            await asyncio.sleep(_POLL_SECONDS)
        raise AssertionError(f"not within {within:g} s: {what}; at {await self.url()}: {await self.text()}")

    async def until_reads(self, text: str) -> None:
        await self.until(f"return document.body.innerText.includes({text!r})", f"the page says {text}")

    async def picture(self) -> bytes:
        """A PNG of the page, for whoever looks into a failure."""
        return base64.b64decode(await self._ask("GET", "/screenshot"))

    async def _load_again_if_interrupted(self) -> None:
        """Chromium drops its connections when a network interface appears, and other tests create some."""
        with suppress(ScriptFailed):
            if _INTERRUPTED in await self.text():
                await self._ask("POST", "/refresh", {})

    async def _ask(self, method: str, path: str, body: object = None) -> Any:
        answer = await self._client.request(method, f"/session/{self._session}{path}", json=body)
        value = answer.json()["value"]
        if answer.is_error:
            raise ScriptFailed(f"{value['error']}: {value['message'][:500]}")
        return value


class ScriptFailed(Exception):
    """The browser refused a request."""


@asynccontextmanager
async def open_browser(tls_port: int | None = None) -> AsyncIterator[Browser]:
    """With a port, all hosts are on this machine, behind it. Certificates are checked by other tests."""
    scratch = await asyncio.to_thread(_make_scratch)
    port = _free_port()
    driver = await asyncio.create_subprocess_exec(
        *("chromedriver", f"--port={port}", "--silent"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    rules = [] if tls_port is None else [f"--host-resolver-rules=MAP * {LOOPBACK}:{tls_port}"]
    try:
        async with httpx.AsyncClient(base_url=f"http://{LOOPBACK}:{port}", timeout=BOUND) as client:
            session = await _begin(client, (*_ARGUMENTS, *rules, f"--user-data-dir={scratch}"))
            try:
                yield Browser(client, session)
            finally:
                await client.delete(f"/session/{session}")
    finally:
        driver.terminate()
        await driver.wait()
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


async def _begin(client: httpx.AsyncClient, arguments: Sequence[str]) -> str:
    capabilities = {
        "browserName": "chrome",
        "acceptInsecureCerts": True,
        "goog:chromeOptions": {"args": list(arguments)},
    }
    patience = Patience(BOUND)
    while True:
        try:
            begun = await client.post("/session", json={"capabilities": {"alwaysMatch": capabilities}})
        except httpx.TransportError:
            assert not patience.is_over, "chromedriver does not answer"
            await asyncio.sleep(_POLL_SECONDS)
            continue
        assert begun.is_success, begun.text
        return str(begun.json()["value"]["sessionId"])


def _make_scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="browser-"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
