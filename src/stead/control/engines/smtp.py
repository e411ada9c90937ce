"""The SMTP server that takes outgoing email."""

from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

import aiosmtplib

SMTP_SECONDS = 15


class SmtpServer:
    """The server behind an `smtp://` or `smtps://` URL."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)

    async def send(self, message: EmailMessage, recipient: str) -> None:
        server = self._url
        await aiosmtplib.send(
            message,
            recipients=[recipient],
            hostname=server.hostname,
            port=server.port,
            username=unquote(server.username) if server.username else None,
            password=unquote(server.password) if server.password else None,
            use_tls=server.scheme == "smtps",
            timeout=SMTP_SECONDS,
        )
