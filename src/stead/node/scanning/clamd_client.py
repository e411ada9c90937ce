"""A session with clamd, over its socket. Files are passed as descriptors, and never by their names."""

import array
import socket

from stead.node.scanning.verdicts import Result, read_clamd_reply

REPLY_SECONDS = 60.0
WINDOW = 2
"""Requests of a session that clamd has at the same time. A file may take 20 seconds, so those of another
session wait less than `REPLY_SECONDS`."""
_MAX_REPLY = 1024


class ClamdUnavailable(Exception):
    """clamd does not answer, or not as documented. The message says which."""


class ClamdSession:
    """Blocks. After ClamdUnavailable the session cannot be used any more."""

    def __init__(self, path: str, seconds: float = REPLY_SECONDS) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(seconds)
        self._unread, self._sent = b"", 0
        self._under_way: set[int] = set()
        self._found: dict[int, tuple[Result, str]] = {}
        try:
            self._socket.connect(path)
            self._socket.sendall(b"zIDSESSION\0")
        except OSError as error:
            self._socket.close()
            raise ClamdUnavailable(f"clamd does not listen ({type(error).__name__})") from None

    def close(self) -> None:
        self._socket.close()

    def submit(self, descriptor: int) -> int:
        """Ask for a file, and return the number of the request. With `WINDOW` requests under way, wait for a
        reply first: all scans of a node share the threads of clamd."""
        while len(self._under_way) >= WINDOW:
            self._take_reply()
        try:
            self._socket.sendall(b"zFILDES\0")
            rights = array.array("i", [descriptor]).tobytes()
            self._socket.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError as error:
            raise ClamdUnavailable(f"clamd has ended the session ({type(error).__name__})") from None
        self._sent += 1
        self._under_way.add(self._sent)
        return self._sent

    def finish(self) -> dict[int, tuple[Result, str]]:
        """The results of all requests since the last call."""
        while self._under_way:
            self._take_reply()
        found, self._found = self._found, {}
        return found

    def _take_reply(self) -> None:
        try:
            number, result, text = read_clamd_reply(self._read_reply())
        except ValueError as error:
            raise ClamdUnavailable(str(error)) from None
        if number not in self._under_way:
            raise ClamdUnavailable("clamd has answered another request")
        self._under_way.remove(number)
        self._found[number] = result, text

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
