"""What a person sees of a stack: a live table on a terminal, one line per change anywhere else."""

from collections.abc import Callable, Iterable
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stead.dev.child import Condition, State
from stead.dev.secrets import FirstAccount

STYLES = {State.READY: "green", State.FAILED: "red", State.RESTARTING: "yellow", State.STOPPED: "dim"}


def table(conditions: Iterable[Condition]) -> Table:
    shown = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("engine", "version"):
        shown.add_column(heading)
    for heading in ("port", "ready in"):
        shown.add_column(heading, justify="right")
    shown.add_column("state")
    for it in conditions:
        ready_in = "" if it.ready_in is None else f"{it.ready_in:.2f} s"
        state = Text(_state(it), STYLES.get(it.state, ""))
        shown.add_row(it.name, it.version, str(it.port or ""), ready_in, state)
    return shown


def _state(it: Condition) -> str:
    told = it.state.value + (f": {it.note}" if it.note else "")
    return told if it.restarts == 0 else f"{told} (restarted {it.restarts}×)"


def greet(console: Console, base_url: str, account: FirstAccount, stop: str) -> None:
    facts = Table.grid(padding=(0, 2))
    for name, value in (
        ("email", account.email),
        ("password", account.password),
        ("API key", account.api_key),
        ("docs", f"{base_url}/docs"),
        ("stop", stop),
    ):
        facts.add_row(Text(name, "dim"), Text(value, overflow="fold"))
    console.print(Panel(facts, title="Stead is up", title_align="left", expand=False))
    # Outside the panel and never wrapped, so that it can be copied as it stands.
    curl = f"curl -s -H 'Authorization: Bearer {account.api_key}' {base_url}/v1/account"
    console.print(curl, style="bold", markup=False, highlight=False, soft_wrap=True)


class Screen:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._conditions: Callable[[], list[Condition]] = list
        self._live: Live | None = None

    def follow(self, conditions: Callable[[], list[Condition]]) -> None:
        self._conditions = conditions

    def __enter__(self) -> "Screen":
        if self._console.is_terminal:
            self._live = Live(console=self._console, get_renderable=lambda: table(self._conditions()))
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def changed(self, it: Condition) -> None:
        # The table forgets; a death is worth a line that stays.
        if self._live is None or it.state in {State.RESTARTING, State.FAILED}:
            self._console.print(_line(it), markup=False, highlight=False, soft_wrap=True)
        if self._live is not None:
            self._live.refresh()


def _line(it: Condition) -> str:
    if it.state is State.READY and it.ready_in is not None:
        where = f" on port {it.port}" if it.port else ""
        return f"{it.name} {it.version} is ready{where} in {it.ready_in:.2f} s".replace("  ", " ")
    return f"{it.name} {_state(it)}"
