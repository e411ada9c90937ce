"""A relay for the mail of sites."""

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.node.harness import until


class Inbox:
    """A real SMTP server on this machine."""

    def __init__(self, port: int) -> None:
        self.received: list[Envelope] = []
        self.answers: list[str] = []
        """To messages, before others are accepted."""
        self.refusals: dict[str, list[str]] = {}
        """Answers to recipients, before they are accepted."""
        self._controller = Controller(self, hostname="127.0.0.1", port=port, data_size_limit=32 << 20)
        self.url = f"smtp+plaintext://127.0.0.1:{port}"

    async def handle_RCPT(  # noqa: N802
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        if refusals := self.refusals.get(address):
            return refusals.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.answers:
            return self.answers.pop(0)
        self.received.append(envelope)
        return "250 OK"

    def start(self) -> None:
        self._controller.start()

    def stop(self) -> None:
        self._controller.stop()

    async def next(self) -> Envelope:
        async def look() -> Envelope | None:
            return self.received.pop(0) if self.received else None

        return await until(look, 30)
