"""Shows the status of a stack: a live table on a terminal, and one line per change elsewhere."""

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stead.dev.child_process import ChildState, ChildStatus
from stead.dev.secrets import FirstAccount
from stead.dev.supervised_program import LOOPBACK

STYLES = {
    ChildState.READY: "green",
    ChildState.FAILED: "red",
    ChildState.RESTARTING: "yellow",
    ChildState.STOPPED: "dim",
}


def status_table(statuses: Iterable[ChildStatus]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("engine", "version"):
        table.add_column(heading)
    for heading in ("port", "ready in"):
        table.add_column(heading, justify="right")
    table.add_column("state")
    for status in statuses:
        ready_in = "" if status.ready_in is None else f"{status.ready_in:.2f} s"
        state = Text(_describe_state(status), STYLES.get(status.state, ""))
        table.add_row(status.name, status.version, str(status.port or ""), ready_in, state)
    return table


def _describe_state(status: ChildStatus) -> str:
    text = status.state.value + (f": {status.note}" if status.note else "")
    return text if status.restarts == 0 else f"{text} (restarted {status.restarts}×)"


def print_access_details(
    console: Console, ports: Mapping[str, int], account: FirstAccount, stop: str
) -> None:
    base_url = f"http://{LOOPBACK}:{ports['api']}"
    details = Table.grid(padding=(0, 2))
    for name, value in (
        ("email", account.email),
        ("password", account.password),
        ("API key", account.api_key),
        ("docs", f"{base_url}/docs"),
        ("SSH", f"{LOOPBACK}, port {ports['ssh']}"),
        ("stop", stop),
    ):
        details.add_row(Text(name, "dim"), Text(value, overflow="fold"))
    console.print(Panel(details, title="Stead is up", title_align="left", expand=False))
    # Outside the panel and never wrapped, so that it can be copied.
    curl = f"curl -s -H 'Authorization: Bearer {account.api_key}' {base_url}/v1/account"
    console.print(curl, style="bold", markup=False, highlight=False, soft_wrap=True)


class StatusDisplay:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._statuses: Callable[[], list[ChildStatus]] = list
        self._live: Live | None = None

    def show(self, statuses: Callable[[], list[ChildStatus]]) -> None:
        """Sets the function that the table reads the current statuses from."""
        self._statuses = statuses

    def __enter__(self) -> "StatusDisplay":
        if self._console.is_terminal:
            self._live = Live(console=self._console, get_renderable=lambda: status_table(self._statuses()))
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def print_line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def on_change(self, status: ChildStatus) -> None:
        # The table shows only the current state, so failures are also printed as lines that remain.
        if self._live is None or status.state in {ChildState.RESTARTING, ChildState.FAILED}:
            self.print_line(_describe(status))
        if self._live is not None:
            self._live.refresh()


def _describe(status: ChildStatus) -> str:
    if status.state is ChildState.READY and status.ready_in is not None:
        port = f" on port {status.port}" if status.port else ""
        ready = f"{status.name} {status.version} is ready{port} in {status.ready_in:.2f} s"
        return ready.replace("  ", " ")
    return f"{status.name} {_describe_state(status)}"
