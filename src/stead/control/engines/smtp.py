"""The SMTP server that takes outgoing email."""

import asyncio
from email.message import EmailMessage
from urllib.parse import urlsplit

import aiosmtplib

from stead.control.engines.transaction_guard import require_no_transaction
from stead.shared.smtp_urls import SCHEMES, SEND_SECONDS, client_options


class SmtpServer:
    """The server behind an `smtp://` URL, which must offer STARTTLS, or an `smtps://` URL. With
    `smtp+plaintext://` mail and password are sent without encryption."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        if self._url.scheme not in SCHEMES:
            raise ValueError(
                "the URL of the SMTP server must begin with smtp://, smtps:// or smtp+plaintext://"
            )

    async def send(self, message: EmailMessage, recipient: str) -> None:
        """Return when the server has accepted the email, which takes at most `SEND_SECONDS`."""
        require_no_transaction("the SMTP server")
        client = aiosmtplib.SMTP(**client_options(self._url))
        async with asyncio.timeout(SEND_SECONDS):
            async with client:
                await client.send_message(message, recipients=[recipient], timeout=SEND_SECONDS)
