"""The operator's SMTP server that sends the mail of sites."""

import asyncio
from urllib.parse import urlsplit

import aiosmtplib

from stead.shared.smtp_urls import SCHEMES, SEND_SECONDS, client_options


class RelayUnavailable(Exception):
    """The message may be sent later."""


class RelayRefused(Exception):
    """The relay will never accept the message; the text is its answer."""


class MailRelay:
    """`smtp://` requires STARTTLS; with `smtp+plaintext://` nothing is encrypted."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        if self._url.scheme not in SCHEMES or not self._url.hostname:
            raise ValueError("the URL of a relay begins with smtp://, smtps:// or smtp+plaintext://")

    async def send(self, sender: str, recipients: tuple[str, ...], content: bytes) -> dict[str, int]:
        """The recipients that the relay has refused, with the codes of its answers. It has accepted the
        message for the others."""
        client = aiosmtplib.SMTP(**client_options(self._url))
        refused: dict[str, int] | None = None
        try:
            async with asyncio.timeout(SEND_SECONDS), client:
                answers, _ = await client.sendmail(sender, list(recipients), content, timeout=SEND_SECONDS)
                refused = {recipient: answer.code for recipient, answer in answers.items()}
        except aiosmtplib.SMTPRecipientsRefused as error:
            refused = {each.recipient: each.code for each in error.recipients}
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            # If only the end of the connection has failed, the message is accepted nevertheless.
            if refused is None:
                raise _failure(error) from None
        return refused


def _failure(error: Exception) -> RelayRefused | RelayUnavailable:
    if isinstance(error, aiosmtplib.SMTPAuthenticationError):
        return RelayUnavailable("the relay refused the password of the platform")
    if not isinstance(error, aiosmtplib.SMTPResponseException):
        return RelayUnavailable(f"the relay cannot be reached ({type(error).__name__})")
    if error.code >= 500:
        return RelayRefused(f"the relay refused the message ({error.code})")
    return RelayUnavailable(f"the relay is busy ({error.code})")
