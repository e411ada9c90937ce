"""What is in the file of a chunk."""

import zstandard

from stead.node.telemetry.spool import PendingChunk
from stead.protocol.telemetry import read_head


def read_rows(chunk: PendingChunk) -> list[list[str]]:
    """The values of each row; the first one is the environment. The head says the same."""
    line, _, compressed = chunk.path.read_bytes().partition(b"\n")
    plain = zstandard.ZstdDecompressor().decompress(compressed, max_output_size=1 << 26)
    rows = [row.split("\t") for row in plain.decode().split("\n")[:-1]]
    parts = read_head(line).parts
    assert {part.environment: part.rows for part in parts} == {
        part.environment: sum(row[0] == part.environment for row in rows) for part in parts
    }
    assert chunk.chunk.rows == len(rows) == sum(part.rows for part in parts)
    return rows
