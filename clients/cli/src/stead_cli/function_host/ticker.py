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


def ticks(seconds: float) -> int:
    return max(1, int(seconds / TICK_SECONDS) + 1)


class Ticker:
    """Advances the clock of the engine while a request is handled, which ends the guest at its deadline.

    A request that is costly lowers the priority of the thread that handles it, so that it does not delay
    short requests of its neighbours. A thread may not raise its priority again, so `needs_thread` asks for
    another one after a short request.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._wake = engine, threading.Event()
        self._is_busy = self._is_resting = False
        self._began_cpu = self._lower_at = self._noted_cpu = 0.0
        self._advanced = self._noted = 0.0
        self._thread = 0
        self._is_lowered = self._was_costly = False
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def needs_thread(self) -> bool:
        return self._is_lowered and not self._was_costly

    def enter_thread(self) -> None:
        """Requests are handled in this thread from now on."""
        self._thread, self._is_lowered = threading.get_native_id(), False

    def begin(self, now: float, cpu: float) -> None:
        self._began_cpu = self._noted_cpu = cpu
        self._lower_at, self._advanced, self._noted = cpu + LONG_SECONDS, now, now
        self._is_busy = True
        if self._is_resting:
            self._wake.set()

    def end(self, cpu: float, *, has_failed: bool = False, is_request: bool = True) -> None:
        """A failure costs another instance. Starting it does not make up for what was before."""
        self._is_busy = False
        is_costly = has_failed or cpu - self._began_cpu > LONG_SECONDS
        self._was_costly = is_costly or (self._was_costly and not is_request)
        if is_costly and not self._is_lowered:
            self._lower()

    def _run(self) -> None:
        while True:
            self._rest()
            time.sleep(TICK_SECONDS)
            # On a busy machine this thread may get its turn late.
            now = time.monotonic()
            while self._advanced < now:
                self._advanced += TICK_SECONDS
                self._engine.increment_epoch()
            self._adjust(now, time.process_time())

    def _rest(self) -> None:
        """Wait for a request. Waking this thread costs more than noting that it need not be woken."""
        self._is_resting = True
        if not self._is_busy:
            self._wake.wait()
        self._wake.clear()
        self._is_resting = False

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
