"""PHP itself, from an image, reads serialized values."""

import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

from stead.node.images.image_store import ImageStore

_CODE = """
while (($line = fgets(STDIN)) !== false) {
    $value = unserialize(base64_decode(trim($line)), ['allowed_classes' => ['stdClass']]);
    echo $value === false ? 'broken' : base64_encode(serialize($value)), "\\n";
    flush();
}
"""


class PhpReader:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def read(self, serialized: bytes) -> bytes:
        """What PHP makes of a serialized value, in the one form that PHP writes it; `broken` if it cannot."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b64encode(serialized) + b"\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@contextmanager
def php_reader() -> Iterator[PhpReader]:
    root = ImageStore().ensure("php8.2").root
    argv = ["chroot", str(root), "/usr/local/bin/php", "-n", "-d", "error_reporting=0", "-r", _CODE]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield PhpReader(process)
        finally:
            process.kill()
