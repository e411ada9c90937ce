"""Turns what a certificate authority answers into a Problem with a message for the site's owner."""

import ssl
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import requests
from acme import messages

from stead.control.certificates.rules import Problem, shorten_detail
from stead.control.dns_records.rules import CHALLENGE_LABEL
from stead.control.domains.names import get_base, is_wildcard

MAX_WAIT = timedelta(days=7)


def describe_refusal(error: messages.Error | None, host: str) -> Problem:
    """Describe why an authority refuses to issue a certificate for a host."""
    code, detail = (error.code, shorten_detail(error.detail)) if error is not None else (None, "")
    quote = _quote(detail)
    if code == "caa":
        return Problem(
            "caa",
            f"A CAA record in the DNS does not allow this certificate authority to issue for {host}.{quote}"
            " Allow the authority in the record, or remove the record.",
        )
    if code in ("rejectedIdentifier", "unsupportedIdentifier"):
        return Problem(
            "ca_refused", f"The certificate authority does not issue certificates for {host}.{quote}"
        )
    return Problem("ca_refused", f"The certificate authority refused the request.{quote}")


def describe_failed_challenge(authorization: messages.Authorization, host: str) -> Problem:
    """Describe why the authority did not accept the proof of control over a host."""
    error = next((it.error for it in authorization.challenges if it.error is not None), None)
    if error is not None and error.code == "caa":
        return describe_refusal(error, host)
    quote = _quote(shorten_detail(error.detail)) if error is not None else ""
    if is_wildcard(host):
        base = get_base(host)
        return Problem(
            "challenge_failed",
            f"The certificate authority looked up the TXT records of {CHALLENGE_LABEL}.{base} and did not"
            f" find the proof.{quote} Make sure that {base} is delegated to the name servers of this"
            " platform, and to no others.",
        )
    return Problem(
        "challenge_failed",
        f"The certificate authority requested the proof at http://{host}/.well-known/acme-challenge/ and did"
        f" not receive it.{quote} Make sure that {host} points to this platform and that no proxy or firewall"
        " in between answers instead.",
    )


def translate_error(error: Exception, response: requests.Response | None) -> Problem:
    """Translate an error of the ACME library. `response` is the last one that was received, if any."""
    status = response.status_code if response is not None else 0
    if isinstance(error, requests.exceptions.SSLError) and _is_untrusted(error):
        return Problem(
            "ca_untrusted",
            "The certificate authority's own TLS certificate is not trusted, so no request is sent to it."
            " The operator of this platform has to fix this.",
        )
    if isinstance(error, requests.exceptions.RequestException):
        return Problem("ca_unreachable", "The certificate authority does not answer. The request is retried.")
    code = error.code if isinstance(error, messages.Error) else None
    detail = shorten_detail(error.detail) if isinstance(error, messages.Error) else ""
    if status == 429 or code == "rateLimited":
        return Problem(
            "ca_rate_limited",
            f"A rate limit of the certificate authority is reached.{_quote(detail)}"
            " The request is retried when the authority allows it.",
            wait=parse_retry_after(response),
        )
    if status >= 500 or code == "serverInternal":
        return Problem(
            "ca_unreachable",
            f"The certificate authority has an internal error (status {status}). The request is retried.",
            wait=parse_retry_after(response),
        )
    if isinstance(error, messages.Error):
        host = error.identifier.value if error.identifier is not None else "this domain"
        return describe_refusal(error, host)
    return Problem("ca_unreachable", "The server at the certificate authority's address does not speak ACME.")


def _quote(detail: str) -> str:
    return f" The authority says: {detail}" if detail else ""


def _is_untrusted(error: BaseException) -> bool:
    """Whether a certificate was rejected, as opposed to a broken connection."""
    pending: list[object] = [error]
    while pending:
        each = pending.pop()
        if isinstance(each, ssl.SSLCertVerificationError):
            return True
        if isinstance(each, BaseException):
            pending += [*each.args, each.__cause__, getattr(each, "reason", None)]
    return False


def parse_retry_after(response: requests.Response | None) -> timedelta:
    """How long the authority asks us to wait; zero if it does not say."""
    text = response.headers.get("Retry-After", "") if response is not None else ""
    if text.isdecimal():
        # Nine digits are more than the maximum, and Python refuses to parse thousands of them.
        return timedelta(seconds=min(int(text[:9]), MAX_WAIT.total_seconds()))
    try:
        wait = parsedate_to_datetime(text) - datetime.now(UTC)
    except (TypeError, ValueError):
        return timedelta()
    return min(max(wait, timedelta()), MAX_WAIT)
