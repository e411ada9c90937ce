"""A session with clamd, over its socket. Files are passed as descriptors, and never by their names."""

import array
import socket
from collections.abc import Sequence

from stead.node.scanning.verdicts import Result, read_clamd_reply

REPLY_SECONDS = 60.0
_MAX_REPLY = 1024


class ClamdUnavailable(Exception):
    """clamd does not answer, or not as documented. The message says which."""


class ClamdSession:
    """Blocks. After ClamdUnavailable the session cannot be used any more."""

    def __init__(self, path: str, seconds: float = REPLY_SECONDS) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(seconds)
        self._unread, self._sent = b"", 0
        try:
            self._socket.connect(path)
            self._socket.sendall(b"zIDSESSION\0")
        except OSError as error:
            self._socket.close()
            raise ClamdUnavailable(f"clamd does not listen ({type(error).__name__})") from None

    def close(self) -> None:
        self._socket.close()

    def send(self, descriptors: Sequence[int]) -> list[int]:
        """Ask for several files at once. Returns the numbers of the requests."""
        numbers = []
        try:
            for descriptor in descriptors:
                self._socket.sendall(b"zFILDES\0")
                rights = array.array("i", [descriptor]).tobytes()
                self._socket.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                self._sent += 1
                numbers.append(self._sent)
        except OSError as error:
            raise ClamdUnavailable(f"clamd has ended the session ({type(error).__name__})") from None
        return numbers

    def receive(self, numbers: Sequence[int]) -> dict[int, tuple[Result, str]]:
        """The results of exactly these requests."""
        found: dict[int, tuple[Result, str]] = {}
        while len(found) < len(numbers):
            try:
                number, result, text = read_clamd_reply(self._read_reply())
            except ValueError as error:
                raise ClamdUnavailable(str(error)) from None
            if number not in numbers or number in found:
                raise ClamdUnavailable("clamd has answered another request")
            found[number] = result, text
        return found

    def ask_version(self) -> str:
        """The versions of clamd and of its signatures."""
        try:
            self._socket.sendall(b"zVERSION\0")
        except OSError as error:
            raise ClamdUnavailable(f"clamd has ended the session ({type(error).__name__})") from None
        self._sent += 1
        number, _, text = self._read_reply().partition(b": ")
        if number != str(self._sent).encode() or not text.startswith(b"ClamAV "):
            raise ClamdUnavailable("clamd has not named its version")
        return text.decode(errors="replace")[:200]

    def _read_reply(self) -> bytes:
        while b"\0" not in self._unread:
            if len(self._unread) > _MAX_REPLY:
                raise ClamdUnavailable("clamd has sent something else than a reply")
            try:
                piece = self._socket.recv(4096)
            except OSError as error:
                raise ClamdUnavailable(f"clamd does not answer ({type(error).__name__})") from None
            if not piece:
                raise ClamdUnavailable("clamd has ended the session")
            self._unread += piece
        reply, _, self._unread = self._unread.partition(b"\0")
        return reply
