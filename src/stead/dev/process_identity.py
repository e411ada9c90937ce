"""Identifies processes reliably across restarts, and runs processes as another user."""

import asyncio
import os
import pwd
import signal
from pathlib import Path
from typing import TypedDict

import msgspec


class Credentials(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def credentials_of(name: str | None) -> Credentials:
    """Arguments of `subprocess` that run a process with the identity and all groups of this user."""
    if name is None:
        return Credentials()
    entry = pwd.getpwnam(name)
    groups = os.getgrouplist(name, entry.pw_gid)
    return Credentials(user=entry.pw_uid, group=entry.pw_gid, extra_groups=groups)


class ProcessId(msgspec.Struct, frozen=True):
    """A process id together with the boot id and the start time. The kernel reuses process ids, so the number
    alone may belong to another process by now."""

    pid: int
    boot: str
    started: int

    @classmethod
    def of(cls, pid: int) -> "ProcessId | None":
        """Returns None if no such process is alive."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The process name may contain spaces and parentheses, so the fields are counted from the last one.
        fields = stat.rpartition(")")[2].split()
        if fields[0] in {"Z", "X"}:
            return None
        return cls(pid, _read_boot_id(), int(fields[19]))

    def is_alive(self) -> bool:
        return ProcessId.of(self.pid) == self

    def send_signal(self, number: signal.Signals) -> bool:
        """Returns whether the process was alive to receive the signal."""
        # The handle is opened before the check, so that the process that was checked gets the signal.
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.is_alive():
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        else:
            return True
        finally:
            os.close(handle)

    async def wait_until_exited(self) -> None:
        """Works for any process, not only for children of this one."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.is_alive():
                await wait_until_readable(handle)
        finally:
            os.close(handle)


async def wait_until_readable(handle: int) -> None:
    """The handle of a process becomes readable when the process exits."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    loop.add_reader(handle, event.set)
    try:
        await event.wait()
    finally:
        loop.remove_reader(handle)


def _read_boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
