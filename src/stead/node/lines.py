"""Turns the bytes that a program writes into lines of limited length, with secrets masked."""

from collections.abc import Collection, Iterator

MASK = "•••".encode()
MAX_LINE_BYTES = 8 * 1024


class Lines:
    """The lines of one stream. Secrets are masked before lines are cut, so a secret is found even where a
    chunk or a line ends inside it."""

    def __init__(self, secrets: Collection[str] = (), limit: int = MAX_LINE_BYTES) -> None:
        self._masking = _Masking([secret.encode() for secret in secrets if secret])
        self._limit = limit
        self._unfinished = b""

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that the chunk completes."""
        return self._cut(self._masking.feed(chunk))

    def flush(self) -> list[str]:
        """The text after the last line break, at the end of the stream."""
        lines = self._cut(self._masking.flush())
        last, self._unfinished = self._unfinished, b""
        return [*lines, *([_decode(last)] if last else [])]

    def _cut(self, clean: bytes) -> list[str]:
        *complete, self._unfinished = (self._unfinished + clean).split(b"\n")
        lines = [piece for line in complete for piece in self._pieces(line.removesuffix(b"\r"))]
        *long, self._unfinished = self._pieces(self._unfinished)
        return [_decode(line) for line in (*lines, *long)]

    def _pieces(self, line: bytes) -> Iterator[bytes]:
        while len(line) > self._limit:
            end = self._limit
            # Do not cut inside a character of several bytes.
            while line[end] & 0xC0 == 0x80 and end > self._limit - 4:
                end -= 1
            yield line[:end]
            line = line[end:]
        yield line


def _decode(line: bytes) -> str:
    return line.decode(errors="replace")


class _Masking:
    """Holds back only the bytes that may be the beginning of a secret."""

    def __init__(self, secrets: list[bytes]) -> None:
        self._secrets = secrets
        self._held = b""
        self._covered = 0
        """How many of the first held bytes belong to a secret that is already masked."""

    def feed(self, chunk: bytes) -> bytes:
        if not self._secrets:
            return chunk
        text = self._held + chunk
        return self._emit(text, len(text) - max(_partial_match(text, secret) for secret in self._secrets))

    def flush(self) -> bytes:
        return self._emit(self._held, len(self._held))

    def _emit(self, text: bytes, end: int) -> bytes:
        """Mask the text up to `end`, and hold the rest back."""
        clean, position = bytearray(), self._covered
        self._covered = 0
        for start, stop in self._spans(text, position):
            if start >= end:
                break
            if start > position:
                clean += text[position:start]
            if start or not position:
                clean += MASK
            position = max(position, stop)
        self._covered = max(0, position - end)
        self._held = text[end:]
        return bytes(clean + text[position:end])

    def _spans(self, text: bytes, covered: int) -> list[tuple[int, int]]:
        """The positions of secrets; overlapping ones are merged."""
        found = sorted(
            (start, start + len(secret)) for secret in self._secrets for start in _find_all(text, secret)
        )
        merged: list[tuple[int, int]] = [(0, covered)] if covered else []
        for start, stop in found:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
            else:
                merged.append((start, stop))
        return merged


def _find_all(text: bytes, secret: bytes) -> Iterator[int]:
    position = text.find(secret)
    while position >= 0:
        yield position
        position = text.find(secret, position + 1)


def _partial_match(text: bytes, secret: bytes) -> int:
    """How many bytes at the end of the text are the beginning of the secret, but not all of it."""
    position = text.find(secret[:1], max(0, len(text) - len(secret) + 1))
    while position >= 0:
        if secret.startswith(text[position:]):
            return len(text) - position
        position = text.find(secret[:1], position + 1)
    return 0
