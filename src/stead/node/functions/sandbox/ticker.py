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
of CPU: it is slow on a busy node, and still gets on."""


class Ticker:
    """Advances the clock of the engine while a request is handled, which ends the guest at its deadline.

    A long request lowers the priority of its process, so that it does not delay short requests of its
    neighbours. The process gets its priority back after a short one, or is replaced where the container does
    not permit that.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._busy = engine, threading.Event()
        self._main = os.getpid()
        self._policy = os.sched_getscheduler(self._main)
        self._began_cpu = self._lower_at = self._noted_cpu = 0.0
        self._advanced = self._noted = 0.0
        self._is_lowered = self._was_long = self.must_be_replaced = False
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self) -> None:
        now, cpu = time.monotonic(), time.process_time()
        self._began_cpu = self._noted_cpu = cpu
        self._lower_at, self._advanced, self._noted = cpu + LONG_SECONDS, now, now
        if self._is_lowered and not self._was_long:
            self._raise()
        self._busy.set()

    def end(self, *, is_request: bool = True) -> None:
        """Starting an instance does not make up for a long request before it."""
        self._busy.clear()
        is_long = time.process_time() - self._began_cpu > LONG_SECONDS
        self._was_long = is_long or (self._was_long and not is_request)

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
                os.sched_setscheduler(self._main, os.SCHED_IDLE, os.sched_param(0))
                self._is_lowered, self._noted, self._noted_cpu = True, now, cpu
        elif now - self._noted > STARVED_SECONDS:
            if cpu - self._noted_cpu < STARVED_SHARE * (now - self._noted):
                self._lower_at = cpu + LONG_SECONDS
                self._raise()
            self._noted, self._noted_cpu = now, cpu

    def _raise(self) -> None:
        try:
            os.sched_setscheduler(self._main, self._policy, os.sched_param(0))
        except PermissionError:
            self.must_be_replaced = True
        else:
            self._is_lowered = False
