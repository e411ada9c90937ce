"""A registry of plugins that speaks the protocol of api.wordpress.org, on this machine."""

import io
import json
import ssl
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from stead.dev.self_signed import create_certificate
from stead.node.wordpress.component_registry import Registry

Versions = dict[str, bytes]


def pack_plugin(slug: str, version: str, code: str = "", *, folder: str = "") -> bytes:
    """The zip file of a plugin that consists of this code."""
    head = f"<?php\n/*\nPlugin Name: {slug}\nVersion: {version}\n*/\n{code}\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        files.writestr(f"{folder or slug}/{slug}.php", head)
    return packed.getvalue()


def pack_theme(slug: str, version: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        files.writestr(f"{slug}/style.css", f"/*\nTheme Name: {slug}\nVersion: {version}\n*/\n")
        files.writestr(f"{slug}/index.php", "<?php\n?><html><body>the theme speaks</body></html>\n")
    return packed.getvalue()


@dataclass
class ComponentServer:
    port: int = 0
    certificate: Path = Path()
    plugins: dict[str, Versions] = field(default_factory=dict)
    """Of each plugin its versions, the latest one last."""
    link_host: str = ""
    """Where the registry says that archives are; itself if empty."""

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def registry(self) -> Registry:
        return Registry(self.url, frozenset(), str(self.certificate))

    def add(self, slug: str, version: str, code: str = "") -> None:
        self.plugins.setdefault(slug, {})[version] = pack_plugin(slug, version, code)

    def answer(self, path: str) -> bytes | None:
        parts = urlsplit(path)
        if parts.path.startswith("/archives/"):
            _, _, slug, version = parts.path.split("/")
            return self.plugins[slug][version]
        slug = parse_qs(parts.query).get("slug", [""])[0]
        if slug not in self.plugins:
            return None
        host = self.link_host or self.url
        links = {version: f"{host}/archives/{slug}/{version}" for version in self.plugins[slug]}
        latest = list(links)[-1]
        described = {"slug": slug, "version": latest, "download_link": links[latest], "versions": links}
        return json.dumps(described).encode()


@contextmanager
def serving_components(home: Path) -> Iterator[ComponentServer]:
    made = ComponentServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = made.answer(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            pass

    certificate, key = create_certificate("registry")
    made.certificate = home / "registry.pem"
    made.certificate.write_bytes(certificate)
    (home / "key.pem").write_bytes(key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, home / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
