"""The statement that inserts the rows of a chunk: those of the environments that the node hosts, at the times
when it did. ClickHouse reads, selects and labels them in one pass."""

from stead.control.insights.chunks import Decisions
from stead.control.insights.tables import ADDED_COLUMNS, TYPES
from stead.protocol.telemetry import COLUMNS, FIRST_COLUMNS, ChunkHead, StreamName


def count_columns(head: ChunkHead) -> int:
    """How many values the rows of a chunk have."""
    return head.columns or FIRST_COLUMNS.get(head.stream, len(COLUMNS[head.stream]))


def insert_statement(stream: StreamName, decisions: Decisions, count: int | None = None) -> str:
    """Rows of other environments, and of other times, are dropped. A row gets the site that was decided for
    its environment; what a node writes cannot change that. `count` is how many values a row has."""
    names, each = list(decisions), list(decisions.values())
    columns = ", ".join(COLUMNS[stream][:count])
    typed = zip(COLUMNS[stream][:count], TYPES[stream][:count], strict=True)
    structure = ", ".join(["env_id String", *(f"{name} {type_}" for name, type_ in typed)])
    return (
        f"insert into {stream} ({', '.join(ADDED_COLUMNS)}, {columns}) with"  # noqa: S608 - constants
        f" {_texts(names)} as names, {_texts([one.site_id for one in each])} as sites,"
        f" {[one.keep_days for one in each]} as days,"
        f" {_moments([one.first for one in each])} as firsts, {_moments([one.last for one in each])} as lasts"
        f" select sites[n], env_id, days[n], {columns} from ("
        f"select *, transform(env_id, names, range(1, {len(names) + 1}), 0) as n"
        f" from input({_text(structure)}))"
        " where n > 0 and ts >= firsts[n] and ts <= lasts[n] format TabSeparated"
    )


def _moments(moments: list[float]) -> str:
    """In milliseconds: a literal with a point is not exact."""
    listed = ", ".join(str(round(moment * 1000)) for moment in moments)
    return f"arrayMap(m -> fromUnixTimestamp64Milli(m, 'UTC'), [{listed}]::Array(Int64))"


def _texts(texts: list[str]) -> str:
    return "[" + ", ".join(map(_text, texts)) + "]"


def _text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
