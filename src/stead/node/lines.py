"""From the bytes a program writes to lines of bounded length in which no secret stands."""

from collections.abc import Collection, Iterator

MASK = "•••".encode()
LONGEST_LINE = 8 * 1024


class Lines:
    """Of one stream. Secrets are found before lines are cut, so neither the end of a chunk nor the end of a
    line can hide one."""

    def __init__(self, secrets: Collection[str] = (), limit: int = LONGEST_LINE) -> None:
        self._masked = _Masked([secret.encode() for secret in secrets if secret])
        self._limit = limit
        self._begun = b""

    def feed(self, chunk: bytes) -> list[str]:
        return self._cut(self._masked.feed(chunk))

    def rest(self) -> list[str]:
        """What stands after the last line break, at the end of the stream."""
        lines = self._cut(self._masked.rest())
        last, self._begun = self._begun, b""
        return [*lines, *([_text(last)] if last else [])]

    def _cut(self, clean: bytes) -> list[str]:
        *whole, self._begun = (self._begun + clean).split(b"\n")
        lines = [piece for line in whole for piece in self._pieces(line.removesuffix(b"\r"))]
        *begun, self._begun = self._pieces(self._begun)
        return [_text(line) for line in (*lines, *begun)]

    def _pieces(self, line: bytes) -> Iterator[bytes]:
        while len(line) > self._limit:
            end = self._limit
            while line[end] & 0xC0 == 0x80 and end > self._limit - 4:
                end -= 1
            yield line[:end]
            line = line[end:]
        yield line


def _text(line: bytes) -> str:
    return line.decode(errors="replace")


class _Masked:
    """Holds back only what may be the beginning of a secret."""

    def __init__(self, secrets: list[bytes]) -> None:
        self._secrets = secrets
        self._held = b""
        self._covered = 0
        """How many of the first held bytes belong to a secret that has been masked already."""

    def feed(self, chunk: bytes) -> bytes:
        if not self._secrets:
            return chunk
        text = self._held + chunk
        return self._emit(text, len(text) - max(_begun(text, secret) for secret in self._secrets))

    def rest(self) -> bytes:
        return self._emit(self._held, len(self._held))

    def _emit(self, text: bytes, end: int) -> bytes:
        clean, place = bytearray(), self._covered
        self._covered = 0
        for start, stop in self._spans(text, place):
            if start >= end:
                break
            if start > place:
                clean += text[place:start]
            if start or not place:
                clean += MASK
            place = max(place, stop)
        self._covered = max(0, place - end)
        self._held = text[end:]
        return bytes(clean + text[place:end])

    def _spans(self, text: bytes, covered: int) -> list[tuple[int, int]]:
        """Where secrets stand, overlapping ones as one."""
        found = sorted(
            (place, place + len(secret)) for secret in self._secrets for place in _places(text, secret)
        )
        merged: list[tuple[int, int]] = [(0, covered)] if covered else []
        for start, stop in found:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
            else:
                merged.append((start, stop))
        return merged


def _places(text: bytes, secret: bytes) -> Iterator[int]:
    place = text.find(secret)
    while place >= 0:
        yield place
        place = text.find(secret, place + 1)


def _begun(text: bytes, secret: bytes) -> int:
    """How many of the last bytes are the first of the secret, without being all of it."""
    for length in range(min(len(secret) - 1, len(text)), 0, -1):
        if text.endswith(secret[:length]):
            return length
    return 0
