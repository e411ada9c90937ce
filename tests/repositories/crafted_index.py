"""Writes what only somebody with the password of a repository can write: a valid index that lies.

The format is described in restic's design document: keys from scrypt, AES-256 in counter mode, and
Poly1305-AES over the ciphertext.
"""

import base64
import hashlib
import json
import os
from dataclasses import dataclass

import httpx
import zstandard
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.poly1305 import Poly1305


@dataclass(frozen=True)
class RepositoryKey:
    encrypt: bytes
    mac_k: bytes
    mac_r: bytes

    def seal(self, plain: bytes) -> bytes:
        nonce = os.urandom(16)
        encryptor = Cipher(algorithms.AES(self.encrypt), modes.CTR(nonce)).encryptor()
        content = encryptor.update(plain) + encryptor.finalize()
        return nonce + content + self._authenticate(nonce, content)

    def open(self, sealed: bytes) -> bytes:
        nonce, content, tag = sealed[:16], sealed[16:-16], sealed[-16:]
        assert self._authenticate(nonce, content) == tag
        decryptor = Cipher(algorithms.AES(self.encrypt), modes.CTR(nonce)).decryptor()
        return decryptor.update(content) + decryptor.finalize()

    def _authenticate(self, nonce: bytes, content: bytes) -> bytes:
        block = Cipher(algorithms.AES(self.mac_k), modes.ECB()).encryptor()  # noqa: S305 - one block
        return Poly1305.generate_tag(self.mac_r + block.update(nonce) + block.finalize(), content)


def open_key(file: bytes, password: str) -> RepositoryKey:
    found = json.loads(file)
    kdf = Scrypt(base64.b64decode(found["salt"]), 64, n=found["N"], r=found["r"], p=found["p"])
    raw = kdf.derive(password.encode())
    master = json.loads(RepositoryKey(raw[:32], raw[32:48], raw[48:]).open(base64.b64decode(found["data"])))
    return RepositoryKey(
        base64.b64decode(master["encrypt"]),
        base64.b64decode(master["mac"]["k"]),
        base64.b64decode(master["mac"]["r"]),
    )


async def craft_index(url: str, password: str) -> int:
    """Upload packs of rubbish, and an index that says that they contain all data of the repository. Returns
    the status of the index."""
    async with httpx.AsyncClient(timeout=60.0) as client:

        async def read_all(kind: str) -> list[bytes]:
            names = [each["name"] for each in (await client.get(f"{url}{kind}/")).json()]
            return [(await client.get(f"{url}{kind}/{name}")).content for name in names]

        async def upload(kind: str, content: bytes) -> tuple[str, int]:
            name = hashlib.sha256(content).hexdigest()
            return name, (await client.post(f"{url}{kind}/{name}", content=content)).status_code

        key = open_key((await read_all("keys"))[0], password)
        blobs = [
            blob
            for sealed in await read_all("index")
            for pack in json.loads(_decompress(key.open(sealed)))["packs"]
            for blob in pack["blobs"]
        ]
        packs = []
        # As restic does it: a pack has either data or trees.
        for kind in ("data", "tree"):
            position, lies = 0, []
            for blob in (each for each in blobs if each["type"] == kind):
                lies.append({**blob, "offset": position})
                position += blob["length"]
            pack, status = await upload("data", os.urandom(position + _header_size(lies)))
            assert status == 200
            packs.append({"id": pack, "blobs": lies})
        lie = json.dumps({"packs": packs}).encode()
        _, status = await upload("index", key.seal(b"\x02" + zstandard.compress(lie)))
        return status


def _header_size(blobs: list[dict[str, object]]) -> int:
    """restic compares the size of a pack with what its index says: an entry of the header for each blob,
    the length of the header, and what encryption adds to it."""
    return 36 + sum(41 if each.get("uncompressed_length") else 37 for each in blobs)


def _decompress(plain: bytes) -> bytes:
    """Version 2 of repositories begins compressed files with their version."""
    return (
        zstandard.ZstdDecompressor().decompressobj().decompress(plain[1:]) if plain[:1] == b"\x02" else plain
    )
