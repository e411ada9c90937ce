"""A person with a key, and the programs of OpenSSH and rsync."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from stead.dev.programs import steadctl
from stead.dev.running_stack import RunningStack
from tests.journeys.customer import Customer
from tests.node.ssh.gateway_node import Done, Key, make_key, run


@dataclass(frozen=True)
class SshClient:
    key: Key
    known_hosts: Path
    host: str
    port: int
    user: str

    @classmethod
    async def register(cls, customer: Customer, stack: RunningStack, site: str, home: Path) -> "SshClient":
        """Add a new key to the site. The client enters production."""
        key = make_key(home, "laptop")
        public = key.file.with_suffix(".pub").read_text()
        await customer.does("PUT", f"{site}/ssh-keys", {"keys": [{"public_key": public, "label": "Laptop"}]})
        printed = await steadctl({"STEAD_NODE_DATA": str(stack.node_data)}, "ssh", "host-key")
        _, host_key = printed.splitlines()
        known_hosts = home / "known_hosts"
        client = await cls(key, known_hosts, "", 0, "").at(customer, f"{site}/environments/production")
        known_hosts.write_text(f"[{client.host}]:{client.port} {host_key}\n")
        return client

    async def at(self, customer: Customer, environment: str) -> "SshClient":
        """The same person at another environment, which is named by its path in the API."""
        site, _, name = environment.partition("/environments/")
        found = (await customer.get(f"{site}/credentials"))["environments"]
        (ssh,) = (each["ssh"] for each in found if name in (each["env_id"], each["type"]))
        return replace(self, host=ssh["host"], port=ssh["port"], user=ssh["user"])

    async def ssh(self, *words: str) -> Done:
        return await run([*self._ssh(), self._target, *words])

    async def sftp(self, *commands: str) -> None:
        argv = ["sftp", *self._options(), "-P", str(self.port), "-b", "-", self._target]
        done = await run(argv, "\n".join(commands).encode() + b"\n")
        assert done.code == 0, done

    async def rsync(self, *words: str) -> None:
        """`remote:` in an argument is the environment."""
        places = [each.replace("remote:", f"{self._target}:", 1) for each in words]
        done = await run(["rsync", "--recursive", "--times", "-e", " ".join(self._ssh()), *places])
        assert done.code == 0, done

    @asynccontextmanager
    async def session(self, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A command that goes on."""
        process = await asyncio.create_subprocess_exec(
            *(*self._ssh(), self._target, *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    @property
    def _target(self) -> str:
        return f"{self.user}@{self.host}"

    def _ssh(self) -> list[str]:
        return ["ssh", *self._options(), "-p", str(self.port)]

    def _options(self) -> list[str]:
        chosen = {
            "BatchMode": "yes",
            "ConnectTimeout": "30",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "IdentityFile": str(self.key.file),
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": str(self.known_hosts),
        }
        return ["-F", "none", *(word for name, value in chosen.items() for word in ("-o", f"{name}={value}"))]
