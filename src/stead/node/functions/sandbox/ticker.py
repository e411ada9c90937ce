"""The clock of a process, and its priority."""

import os
import threading
import time

from wasmtime import Engine

TICK_SECONDS = 0.01
CPU_BURST, CPU_SHARE = 0.1, 0.1
"""How many seconds of CPU a process uses at once with the ordinary priority, and then in a second."""


class Ticker:
    """Advances the clock of the engine while a request is handled, which ends the guest at its deadline.

    A process that uses much CPU gets what others leave, so that it does not delay short requests of its
    neighbours. Later it gets its priority back, or is replaced where the container does not permit that.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._busy = engine, threading.Event()
        self._main = os.getpid()
        self._policy = os.sched_getscheduler(self._main)
        self._left, self._cpu, self._since = CPU_BURST, time.process_time(), time.monotonic()
        self._advanced = 0.0
        self._is_lowered = self.must_be_replaced = False
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self) -> None:
        now, cpu = time.monotonic(), time.process_time()
        earned = (now - self._since) * CPU_SHARE
        self._left = min(CPU_BURST, self._left + earned - (cpu - self._cpu))
        self._cpu, self._since, self._advanced = cpu, now, now
        if self._is_lowered and self._left > CPU_BURST / 2:
            try:
                os.sched_setscheduler(self._main, self._policy, os.sched_param(0))
            except PermissionError:
                self.must_be_replaced = True
            else:
                self._is_lowered = False
        self._busy.set()

    def end(self) -> None:
        self._busy.clear()

    def _run(self) -> None:
        while True:
            self._busy.wait()
            time.sleep(TICK_SECONDS)
            # On a busy machine this thread may get its turn late.
            while self._advanced < time.monotonic():
                self._advanced += TICK_SECONDS
                self._engine.increment_epoch()
            if not self._is_lowered and time.process_time() - self._cpu > self._left:
                self._is_lowered = True
                os.sched_setscheduler(self._main, os.SCHED_IDLE, os.sched_param(0))
