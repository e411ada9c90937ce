"""Signed artifacts for a node, and an HTTP server for their layers."""

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from stead.artifacts import manifest, provenance
from stead.artifacts.digests import Digest
from stead.artifacts.packer import pack_layer
from stead.artifacts.provenance import Provenance
from stead.protocol.work.releases import EnsureRelease, LayerDownload
from stead.shared.runtimes import Runtime

SIGNING_KEY = Ed25519PrivateKey.generate()


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def sign_provenance(digest: str, key: Ed25519PrivateKey = SIGNING_KEY) -> bytes:
    now = datetime.now(UTC)
    about = Provenance(Digest(digest), "urn:b", "urn:t", "https://example.com/", "", {}, "build_1", now, now)
    return provenance.sign(about, key)


@dataclass
class LayerServer:
    """Serves layers, and records the requests."""

    address: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    paused: threading.Event | None = None
    """Until it is set, responses stop after the first half."""

    def offer(self, files: dict[str, str], runtime: Runtime = "static") -> EnsureRelease:
        with tempfile.TemporaryDirectory() as place:
            tree = Path(place) / "tree"
            for name, content in files.items():
                path = tree / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
            with (Path(place) / "layer").open("wb") as file:
                packed = pack_layer(tree, file)
            self.blobs[f"/{packed.digest}"] = (Path(place) / "layer").read_bytes()
        made = manifest.make_manifest(packed, runtime=runtime)
        return EnsureRelease(
            runtime=runtime,
            digest=made.manifest.digest,
            manifest=made.manifest.content,
            config=made.config.content,
            envelope=sign_provenance(made.manifest.digest),
            keys=(public_bytes(SIGNING_KEY),),
            layers=(LayerDownload(packed.digest, f"{self.address}/{packed.digest}"),),
        )


@contextmanager
def serve_layers() -> Iterator[LayerServer]:
    it = LayerServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            it.asked.append(self.path)
            content = it.blobs.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            half = len(content) // 2
            self.wfile.write(content[:half])
            self.wfile.flush()
            if it.paused is not None:
                it.paused.wait(30)
            self.wfile.write(content[half:])

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    it.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield it
    finally:
        if it.paused is not None:
            it.paused.set()
        server.shutdown()
        server.server_close()
        thread.join()
