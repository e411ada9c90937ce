"""Who runs a process, and whether one we noted is still the same or another that got its number."""

import asyncio
import os
import pwd
import signal
from pathlib import Path
from typing import TypedDict

import msgspec


class RunAs(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def as_user(name: str | None) -> RunAs:
    """Arguments for subprocess: everything of the other user and nothing of ours."""
    if name is None:
        return RunAs()
    entry = pwd.getpwnam(name)
    return RunAs(user=entry.pw_uid, group=entry.pw_gid, extra_groups=os.getgrouplist(name, entry.pw_gid))


class ProcessId(msgspec.Struct, frozen=True):
    """A number alone is recycled; with the boot and the moment it was started it is not."""

    pid: int
    boot: str
    started: int

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """None when no such process is alive."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The name may hold spaces and parentheses; the fields after the last one are plain.
        fields = stat.rpartition(")")[2].split()
        if fields[0] in {"Z", "X"}:
            return None
        return cls(pid, _boot(), int(fields[19]))

    def alive(self) -> bool:
        return ProcessId.of(self.pid) == self

    def send(self, number: signal.Signals) -> bool:
        """Whether it was there to get the signal."""
        # The handle comes first: what is checked and what gets the signal are then the same process.
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive():
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        else:
            return True
        finally:
            os.close(handle)

    async def ended(self) -> None:
        """Returns when it has; it need not be our child."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.alive():
                await readable(handle)
        finally:
            os.close(handle)


async def readable(handle: int) -> None:
    """A process's handle is readable when the process has ended."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    loop.add_reader(handle, event.set)
    try:
        await event.wait()
    finally:
        loop.remove_reader(handle)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
