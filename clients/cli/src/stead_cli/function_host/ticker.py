# Generated from `src/stead/node/functions/sandbox/ticker.py` by `make generate`.
"""The clock of a process, and its priority."""

import os
import threading
import time

from wasmtime import Engine

TICK_SECONDS = 0.01
LONG_SECONDS = 0.02
"""A request that has used this much CPU gets what other functions leave."""
STARVED_SECONDS, STARVED_SHARE = 0.2, 0.05
"""One that got less than this share of a core for so long has the ordinary priority again for `LONG_SECONDS`
of CPU, where the container permits that: it is slow on a busy node, and still gets on."""


class Ticker:
    """Advances the clock of the engine while a request is handled, which ends the guest at its deadline.

    A request that is costly lowers the priority of the thread that handles it, so that it does not delay
    short requests of its neighbours. A thread may not raise its priority again, so `needs_thread` asks for
    another one after a short request.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._busy = engine, threading.Event()
        self._began_cpu = self._lower_at = self._noted_cpu = 0.0
        self._advanced = self._noted = 0.0
        self._thread = 0
        self._is_lowered = self._was_costly = False
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def needs_thread(self) -> bool:
        return self._is_lowered and not self._was_costly

    def begin(self) -> None:
        now, cpu, thread = time.monotonic(), time.process_time(), threading.get_native_id()
        self._began_cpu = self._noted_cpu = cpu
        self._lower_at, self._advanced, self._noted = cpu + LONG_SECONDS, now, now
        if thread != self._thread:
            self._thread, self._is_lowered = thread, False
        self._busy.set()

    def end(self, *, has_failed: bool = False, is_request: bool = True) -> None:
        """A failure costs another instance. Starting it does not make up for what was before."""
        self._busy.clear()
        is_costly = has_failed or time.process_time() - self._began_cpu > LONG_SECONDS
        self._was_costly = is_costly or (self._was_costly and not is_request)
        if is_costly and not self._is_lowered:
            self._lower()

    def _run(self) -> None:
        while True:
            self._busy.wait()
            time.sleep(TICK_SECONDS)
            # On a busy machine this thread may get its turn late.
            now = time.monotonic()
            while self._advanced < now:
                self._advanced += TICK_SECONDS
                self._engine.increment_epoch()
            self._adjust(now, time.process_time())

    def _adjust(self, now: float, cpu: float) -> None:
        if not self._is_lowered:
            if cpu > self._lower_at:
                self._lower()
                self._noted, self._noted_cpu = now, cpu
        elif now - self._noted > STARVED_SECONDS:
            if cpu - self._noted_cpu < STARVED_SHARE * (now - self._noted):
                self._raise(cpu)
            self._noted, self._noted_cpu = now, cpu

    def _lower(self) -> None:
        if self._set_policy(os.SCHED_IDLE):
            self._is_lowered = True

    def _raise(self, cpu: float) -> None:
        if self._set_policy(os.SCHED_OTHER):
            self._is_lowered, self._lower_at = False, cpu + LONG_SECONDS

    def _set_policy(self, policy: int) -> bool:
        """False if that is not permitted, or the thread has just ended."""
        try:
            os.sched_setscheduler(self._thread, policy, os.sched_param(0))
        except OSError:
            return False
        return True
