"""An account of the running stack, made by the operator, with its own API key."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec

from stead.dev.running_stack import RunningStack
from stead.dev.subprocesses import run
from stead.dev.supervised_program import clean_environment
from stead.protocol.subjects import Program
from tests.faults.jobs.node import STEADCTL
from tests.patience import Patience

JOB_SECONDS = 240.0


@dataclass
class Person:
    api: httpx.AsyncClient
    email: str
    password: str
    path: str = field(default="", init=False)
    """Where the API serves the person's site, once there is one."""

    @classmethod
    async def create(cls, stack: RunningStack, name: str, plan: str) -> "Person":
        email = f"{name}@example.com"
        words = ("accounts", "create", "--email", email, "--name", name, "--plan", plan, "--with-key")
        environment = clean_environment(stack.environment(Program.WORKER))
        done = await run([*STEADCTL, *words], env=environment)
        assert done.code == 0, done.errors
        account = msgspec.json.decode(done.output)
        bearer = {"authorization": f"Bearer {account['api_key']}"}
        api = httpx.AsyncClient(base_url=stack.api.url, headers=bearer, timeout=60)
        return cls(api, email, account["password"])

    @property
    def production(self) -> str:
        return f"{self.path}/environments/production"

    async def complete(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Request something that takes a job, and return the job when it has succeeded."""
        response = await self.api.request(method, path, json=body)
        assert response.status_code == 202, f"{method} {path}: {response.status_code} {response.text}"
        return await self.wait_for(response.json()["data"]["id"])

    async def wait_for(self, job_id: str) -> dict[str, Any]:
        patience = Patience(JOB_SECONDS)
        while True:
            job = await self.read(f"/v1/jobs/{job_id}")
            if job["status"] in ("succeeded", "failed"):
                assert job["status"] == "succeeded", job["error"]
                return dict(job)
            assert not patience.is_over, job
            await asyncio.sleep(0.05)

    async def read(self, path: str) -> Any:
        response = await self.api.get(path)
        assert response.status_code == 200, f"{path}: {response.status_code} {response.text}"
        return response.json()["data"]
