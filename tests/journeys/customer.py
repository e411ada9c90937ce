"""A customer: calls the API and follows the stream of each job, over a connection that breaks."""

from typing import Any

import httpx

from stead.dev.running_stack import RunningStack
from tests.client import Client
from tests.patience import Patience
from tests.streams.sse import MESSAGE, Heard, listening

JOB_BOUND = 240.0


class Customer:
    def __init__(self, stack: RunningStack) -> None:
        account = stack.secrets.account
        assert account is not None
        self._secret, self._port = account.api_key, stack.api.port
        self.api = Client(base_url=stack.api.url, timeout=60)
        self.api.headers["authorization"] = f"Bearer {self._secret}"

    async def get(self, path: str) -> Any:
        return _data(await self.api.get(path))

    async def put(self, path: str, body: object) -> Any:
        return _data(await self.api.put(path, json=body))

    async def post(self, path: str, body: object | None = None) -> Any:
        return _data(await self.api.post(path, json=body))

    async def does(self, method: str, path: str, body: object | None = None) -> dict[str, Any]:
        """Send a request that starts a job, and return the job when it has succeeded."""
        job = _data(await self.api.request(method, path, json=body))
        return await self.follow(job["id"])

    async def follow(self, job: str, *, status: str = "succeeded") -> dict[str, Any]:
        heard = await self.listen(job)
        assert heard.done == [{"status": status}], f"{job}: {heard.lines[-20:]} {heard.jobs[-1:]}"
        told: dict[str, Any] = await self.get(f"/v1/jobs/{job}")
        assert heard.jobs[-1]["status"] == told["status"] == status
        return told

    async def run(self, environment: str, *args: str) -> list[str]:
        """Run WP-CLI in an environment, and return what it printed."""
        job = await self.post(f"{environment}/exec", {"args": list(args)})
        heard = await self.listen(job["id"])
        assert heard.done == [{"status": "succeeded"}], f"{args}: {heard.lines[-20:]} {heard.jobs[-1:]}"
        return heard.lines

    async def listen(self, job: str) -> Heard:
        """Reads the stream to its `done` frame. The connection breaks after the first frames. The API may
        also end a stream early, when it cannot read the output. A client then reconnects."""
        async with listening(self._port, job, self._secret) as first:
            heard = await first.until(lambda heard: len(heard.frames) >= 2 or heard.ended, within=JOB_BOUND)
        patience = Patience(JOB_BOUND)
        while not heard.done and not patience.is_over:
            async with listening(self._port, job, self._secret, after=heard.last_id) as again:
                more = await again.to_the_end(within=JOB_BOUND)
            heard.frames += more.frames
            heard.last_id = more.last_id or heard.last_id
        lines = [frame.id for frame in heard.frames if frame.event == MESSAGE]
        assert len(set(lines)) == len(lines), "a line came twice"
        return heard


def _data(answer: httpx.Response) -> Any:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
    return answer.json()["data"] if answer.content else None
