"""A real SMTP server on the loopback that keeps what it is given, or refuses as it is told."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from stead.control.app import ControlPlane
from stead.control.outbox.mail import MailSender
from stead.control.sealing import Sealer


@dataclass(frozen=True)
class Received:
    recipients: list[str]
    message: EmailMessage

    @property
    def text(self) -> str:
        return str(self.message.get_content())


@dataclass
class Sink:
    port: int
    refusals: list[str] = field(default_factory=list)
    """Answers to the next letters; when there are none left, letters are taken."""
    letters: list[Received] = field(default_factory=list)
    tried: int = 0
    seconds: float = 0.0
    """How long it takes to accept a letter."""

    @property
    def url(self) -> str:
        return f"smtp+plaintext://127.0.0.1:{self.port}"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: ARG002, N802
        self.tried += 1
        await asyncio.sleep(self.seconds)
        if self.refusals:
            return self.refusals.pop(0)
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=default)
        self.letters.append(Received(envelope.rcpt_tos, message))
        return "250 taken"

    @contextmanager
    def open(self) -> Iterator["Sink"]:
        controller = Controller(self, hostname="127.0.0.1", port=self.port)
        controller.start()
        try:
            yield self
        finally:
            controller.stop()


def new_sink() -> Sink:
    """One that nobody listens at until it is opened."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return Sink(free.getsockname()[1])


def mail_sender_of(plane: ControlPlane) -> MailSender:
    """The postman that a worker of this installation has."""
    settings = plane.settings
    sealer = Sealer.from_text(settings.sealing_key)
    return MailSender(plane.database, sealer, smtp_url=settings.smtp_url, sender=settings.mail_from)
