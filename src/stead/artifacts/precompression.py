"""Compressed copies of the files of a static site, made once so that no request has to compress.

A site decides how much there is to compress, so the work is limited; files beyond the limit are compressed by
the edge as they are requested.
"""

import gzip
import os
from pathlib import Path

import brotli

from stead.artifacts.site_rules.rules import FILES

SUFFIXES = frozenset(
    {
        *(".atom", ".css", ".csv", ".geojson", ".gltf", ".htm", ".html", ".ics", ".js", ".json", ".map"),
        *(".md", ".mjs", ".rss", ".svg", ".txt", ".wasm", ".webmanifest", ".xhtml", ".xml"),
    }
)
MIN_BYTES = 1024
MAX_FILE_BYTES = 5 * 1024 * 1024
MAX_TOTAL_BYTES = 32 * 1024 * 1024
BEST_BYTES = 256 * 1024
"""Larger files are compressed less, which takes a fraction of the time."""


def add_compressed_files(folder: Path, *, max_bytes: int = MAX_TOTAL_BYTES) -> int:
    """Put `.br` and `.gz` beside files that become smaller. Copies that the site brings along are kept.
    Return the number of files that were compressed."""
    compressed, left = 0, max_bytes
    for directory, subdirectories, names in os.walk(folder):
        subdirectories.sort()
        present = set(names)
        for name in sorted(names):
            path = Path(directory) / name
            size = path.lstat().st_size
            if Path(name).suffix.lower() not in SUFFIXES or path.is_symlink():
                continue
            if name in FILES and path.parent == folder:
                # They are never served.
                continue
            if not MIN_BYTES <= size <= min(left, MAX_FILE_BYTES):
                continue
            left -= size
            compressed += _compress(path, size, present)
    return compressed


def _compress(path: Path, size: int, present: set[str]) -> bool:
    content = path.read_bytes()
    written = False
    if f"{path.name}.br" not in present:
        quality = 9 if size <= BEST_BYTES else 5
        written = _write(path.with_name(f"{path.name}.br"), brotli.compress(content, quality=quality), size)
    if f"{path.name}.gz" not in present:
        smaller = gzip.compress(content, compresslevel=6, mtime=0)
        written = _write(path.with_name(f"{path.name}.gz"), smaller, size) or written
    return written


def _write(path: Path, content: bytes, original: int) -> bool:
    if len(content) > original * 9 // 10:
        return False
    with path.open("xb") as file:
        file.write(content)
    path.chmod(0o444)
    return True
