"""A scripted name server. It can give different answers to repeated queries."""

import asyncio
import socket
import struct
from collections import Counter
from ipaddress import ip_address

A, CNAME, AAAA = 1, 5, 28
Script = dict[str, list[list[str]]]
"""For each name, the answers to the first query, the second, and so on; the last is repeated.

An answer is an address, or another name, which makes the name an alias.
"""


class NameServer(asyncio.DatagramProtocol):
    def __init__(self, script: Script) -> None:
        self._script = {name.lower(): answers for name, answers in script.items()}
        self._queries: Counter[tuple[str, int]] = Counter()
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        assert self._transport is not None
        self._transport.sendto(self._answer(data), address)

    def _answer(self, data: bytes) -> bytes:
        name, end = _decode_name(data, 12)
        kind = struct.unpack_from("!H", data, end)[0]
        records = self._records(name, kind)
        known = name in self._script
        flags = 0x8180 if known else 0x8183
        head = data[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0)
        return head + data[12 : end + 4] + b"".join(records)

    def _records(self, name: str, kind: int) -> list[bytes]:
        answers = self._script.get(name)
        if not answers:
            return []
        turn = min(self._queries[name, kind], len(answers) - 1)
        self._queries[name, kind] += 1
        found = []
        for value in answers[turn]:
            try:
                address = ip_address(value)
            except ValueError:
                found.append(_record(name, CNAME, _encode_name(value)))
                found += self._records(value, kind)
                continue
            if (address.version == 4) == (kind == A) and kind in (A, AAAA):
                found.append(_record(name, kind, address.packed))
        return found


def _record(name: str, kind: int, data: bytes) -> bytes:
    return _encode_name(name) + struct.pack("!HHIH", kind, 1, 0, len(data)) + data


def _encode_name(name: str) -> bytes:
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


def _decode_name(data: bytes, position: int) -> tuple[str, int]:
    parts = []
    while length := data[position]:
        parts.append(data[position + 1 : position + 1 + length].decode())
        position += 1 + length
    return ".".join(parts).lower(), position + 1


async def serve(script: Script, host: str = "127.0.0.1") -> asyncio.DatagramTransport:
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(script), (host, 53), family=socket.AF_INET
    )
    return transport
