"""What is written to a program while it works on something else."""

import os
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from stead.node.databases.pipe_writer import MAX_WAITING_BYTES, PipeWriter

PIECE = 300_000
TOTAL = 4 * MAX_WAITING_BYTES


def _write(descriptor: int, written: list[int]) -> str:
    """Write pieces, and return the digest of all of them."""
    digest = sha256()
    with PipeWriter(descriptor) as writer:
        for number in range(TOTAL // PIECE):
            piece = number.to_bytes(4) * (PIECE // 4)
            writer.write(piece)
            digest.update(piece)
            written.append(len(piece))
    return digest.hexdigest()


def test_everything_arrives_in_order_and_little_waits() -> None:
    reading, writing = os.pipe()
    written: list[int] = []
    digest, received, most = sha256(), 0, 0
    with ThreadPoolExecutor(1) as threads, os.fdopen(reading, "rb", buffering=0) as pipe:
        wanted = threads.submit(_write, writing, written)
        while piece := pipe.read(1 << 20):
            received += len(piece)
            most = max(most, sum(written) - received)
            digest.update(piece)
        assert wanted.result(10) == digest.hexdigest()
    assert sum(written) == received
    assert most < 2 * MAX_WAITING_BYTES


def test_a_program_that_has_ended_is_noticed() -> None:
    reading, writing = os.pipe()
    written: list[int] = []
    with ThreadPoolExecutor(1) as threads:
        wanted = threads.submit(_write, writing, written)
        os.read(reading, 1000)
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            wanted.result(10)
    assert sum(written) < TOTAL


def test_an_error_is_passed_on_and_the_program_reads_the_end() -> None:
    reading, writing = os.pipe()
    with pytest.raises(ValueError, match="refused"), PipeWriter(writing) as writer:  # noqa: PT012
        writer.write(b"before")
        raise ValueError("refused")
    assert os.read(reading, 100) == b"before"
    assert os.read(reading, 100) == b""
    os.close(reading)
