"""A certificate authority, spoken to in ACME. The library blocks, so every word goes through a thread."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import requests
from acme import challenges, client, errors, messages
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from josepy.jwa import ES256
from josepy.jwk import JWK, JWKEC

from stead.control.certificates.rules import Issued, Problem, quoted

T = TypeVar("T")

REQUEST_SECONDS = 15
NONCE_TRIES = 8
"""An authority may refuse a fresh nonce whenever it likes; the library itself asks only twice."""
LONGEST_WAIT = timedelta(days=7)
FIRST_POLL, LONGEST_POLL = 0.2, 5.0
DECISION_SECONDS = 75.0
"""How long an authority may think about a challenge or an order within one attempt."""


_ENDED = (messages.STATUS_VALID, messages.STATUS_INVALID)
_MOVED_ON = (messages.STATUS_READY, *_ENDED)


class AccountUnknown(Exception):
    """The authority does not know the account, or no longer."""


class _Network(client.ClientNetwork):
    """Remembers the last answer: an error of the library does not say its status nor for how long to wait."""

    def __init__(self, key: JWK, trust: str) -> None:
        super().__init__(key, alg=ES256, user_agent="stead", timeout=REQUEST_SECONDS)
        self.last: requests.Response | None = None
        self.session.hooks["response"].append(self._heard)
        if trust:
            self.verify_ssl = trust  # type: ignore[assignment] # requests takes a path too

    def _heard(self, response: requests.Response, **_: object) -> None:
        self.last = response

    def post(self, *args: Any, **options: Any) -> requests.Response:
        for _ in range(NONCE_TRIES):
            try:
                return super().post(*args, **options)
            except messages.Error as error:
                if error.code != "badNonce":
                    raise
        raise errors.ClientError("the authority takes no nonce")


class Authority:
    """One conversation, of one account. Whatever fails is a Problem, or AccountUnknown."""

    def __init__(self, directory: str, account_key: bytes, *, uri: str | None, trust: str = "") -> None:
        private = serialization.load_pem_private_key(account_key, password=None)
        self._key = JWKEC(key=private)
        self._address, self._network = directory, _Network(self._key, trust)
        self._directory: messages.Directory | None = None
        self._uri = uri
        self._use(uri)

    def close(self) -> None:
        self._network.session.close()

    async def register(self, email: str) -> str:
        """Where the account is. Registering a key again leads to the same account."""
        self._use(None)
        wanted = messages.NewRegistration.from_data(email=email or None, terms_of_service_agreed=True)
        answer = await self._post("newAccount", wanted)
        uri = str(answer.headers["Location"])
        self._use(uri)
        return uri

    async def order(self, host: str) -> tuple[str, messages.Order]:
        identifier = messages.Identifier(typ=messages.IDENTIFIER_FQDN, value=host)
        answer = await self._post("newOrder", messages.NewOrder(identifiers=[identifier]))
        return str(answer.headers["Location"]), _order(answer)

    async def look(self, uri: str) -> messages.Order:
        return _order(await self._post(uri, None))

    async def authorizations(self, order: messages.Order) -> dict[str, messages.Authorization]:
        return {uri: await self._authorization(uri) for uri in order.authorizations}

    def answer_to(self, authorization: messages.Authorization) -> tuple[messages.ChallengeBody, str]:
        """Its http-01 challenge, and what must be found at its token's address."""
        for body in authorization.challenges:
            if isinstance(body.chall, challenges.HTTP01):
                return body, str(body.chall.validation(self._key))
        raise Problem("ca_refused", "The certificate authority offers no check by HTTP for this domain.")

    async def answer(self, challenge: messages.ChallengeBody) -> None:
        await self._post(challenge.uri, challenge.chall.response(self._key))

    async def decided(self, uri: str) -> messages.Authorization:
        return await _until(
            lambda: self._authorization(uri), lambda found: found.status != messages.STATUS_PENDING
        )

    async def finalized(self, uri: str, key: bytes, host: str) -> messages.Order:
        """The order once it is valid or not; it is asked for the certificate when it is ready to be."""
        order = await _until(lambda: self.look(uri), lambda found: found.status in _MOVED_ON)
        if order.status == messages.STATUS_READY:
            await self._post(order.finalize, messages.CertificateRequest(csr=_request(key, host)))
            order = await _until(lambda: self.look(uri), lambda found: found.status in _ENDED)
        return order

    async def download(self, order: messages.Order, key: bytes) -> Issued:
        return _issued((await self._post(order.certificate, None)).text, key)

    async def _authorization(self, uri: str) -> messages.Authorization:
        found: messages.Authorization = messages.Authorization.from_json((await self._post(uri, None)).json())
        return found

    def _use(self, uri: str | None) -> None:
        body = messages.Registration()
        self._network.account = messages.RegistrationResource(body=body, uri=uri) if uri else None

    async def _post(self, where: str, what: Any) -> requests.Response:
        """`where` is an address, or the name that the directory has for it."""
        if self._directory is None:
            self._directory = await self._heard(self._ask_directory)
        directory = self._directory
        address = where if "://" in where else directory[where]
        return await self._heard(
            lambda: self._network.post(address, what, new_nonce_url=directory["newNonce"])
        )

    def _ask_directory(self) -> messages.Directory:
        return messages.Directory.from_json(self._network.get(self._address).json())

    async def _heard(self, ask: Callable[[], T]) -> T:
        self._network.last = None
        try:
            return await asyncio.to_thread(ask)
        except Exception as error:  # noqa: BLE001 - of a library that raises many kinds
            if isinstance(error, messages.Error) and error.code == "accountDoesNotExist":
                raise AccountUnknown from None
            raise _problem(error, self._network.last) from None


def new_key() -> bytes:
    """A private key in PEM, for an account or for a certificate."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def refusal(error: messages.Error | None, host: str) -> Problem:
    """What an authority says against a host, told to its owner."""
    code, detail = (error.code, quoted(error.detail)) if error is not None else (None, "")
    said = f" It says: {detail}" if detail else ""
    if code == "caa":
        return Problem(
            "caa",
            f"A CAA record in the DNS forbids this certificate authority to issue for {host}.{said}"
            " Allow it there, or remove the record.",
        )
    if code in ("rejectedIdentifier", "unsupportedIdentifier"):
        return Problem("ca_refused", f"The certificate authority does not issue for {host}.{said}")
    return Problem("ca_refused", f"The certificate authority refused.{said}")


def unproved(authorization: messages.Authorization, host: str) -> Problem:
    """Why the authority does not believe that the host is ours."""
    error = next((it.error for it in authorization.challenges if it.error is not None), None)
    if error is not None and error.code == "caa":
        return refusal(error, host)
    said = f" It says: {quoted(error.detail)}" if error is not None and error.detail else ""
    return Problem(
        "challenge_failed",
        f"The certificate authority asked http://{host}/.well-known/acme-challenge/ for proof and did not"
        f" get it.{said} Make sure that {host} leads here and that nothing in between answers instead.",
    )


def _problem(error: Exception, answer: requests.Response | None) -> Problem:
    status = answer.status_code if answer is not None else 0
    if isinstance(error, requests.exceptions.SSLError) and _is_distrust(error):
        return Problem(
            "ca_untrusted",
            "The certificate authority's own certificate is not trusted, so nothing is asked of it."
            " This is ours to mend.",
        )
    if isinstance(error, requests.exceptions.RequestException):
        return Problem("ca_unreachable", "The certificate authority does not answer. It is asked again.")
    code = error.code if isinstance(error, messages.Error) else None
    detail = quoted(error.detail) if isinstance(error, messages.Error) else ""
    if status == 429 or code == "rateLimited":
        said = f" It says: {detail}" if detail else ""
        return Problem(
            "ca_rate_limited",
            f"The certificate authority issues no more for now: a limit of its own is reached.{said}"
            " It is asked again when it allows.",
            wait=_wait(answer),
        )
    if status >= 500 or code == "serverInternal":
        return Problem(
            "ca_unreachable",
            f"The certificate authority is in trouble: it answered with {status}. It is asked again.",
            wait=_wait(answer),
        )
    if isinstance(error, messages.Error):
        host = error.identifier.value if error.identifier is not None else "this domain"
        return refusal(error, host)
    return Problem("ca_unreachable", "What answers in the certificate authority's place does not speak ACME.")


def _is_distrust(error: BaseException) -> bool:
    """Whether a certificate was refused, rather than a connection broken."""
    seen: list[object] = [error]
    while seen:
        each = seen.pop()
        if isinstance(each, ssl.SSLCertVerificationError):
            return True
        if isinstance(each, BaseException):
            seen += [*each.args, each.__cause__, getattr(each, "reason", None)]
    return False


def _wait(answer: requests.Response | None) -> timedelta:
    text = answer.headers.get("Retry-After", "") if answer is not None else ""
    if text.isdecimal():
        return timedelta(seconds=min(int(text), LONGEST_WAIT.total_seconds()))
    try:
        wanted = parsedate_to_datetime(text) - datetime.now(UTC)
    except (TypeError, ValueError):
        return timedelta()
    return min(max(wanted, timedelta()), LONGEST_WAIT)


async def _until(look: Callable[[], Awaitable[T]], done: Callable[[T], bool]) -> T:
    pause = FIRST_POLL
    try:
        async with asyncio.timeout(DECISION_SECONDS):
            while not done(found := await look()):
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, LONGEST_POLL)
            return found
    except TimeoutError:
        raise Problem(
            "ca_unreachable", "The certificate authority has not decided yet. It is asked again."
        ) from None


def _order(answer: requests.Response) -> messages.Order:
    order: messages.Order = messages.Order.from_json(answer.json())
    return order


def _request(key: bytes, host: str) -> x509.CertificateSigningRequest:
    private = serialization.load_pem_private_key(key, password=None)
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise TypeError("the key of a certificate is one of an elliptic curve")
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    # No common name: a host may be longer than the 64 characters that one can have.
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(names, critical=True)
        .sign(private, hashes.SHA256())
    )


def _issued(chain: str, key: bytes) -> Issued:
    leaf = x509.load_pem_x509_certificate(chain.encode())
    by = {each.oid: str(each.value) for each in leaf.issuer}
    name = by.get(x509.NameOID.ORGANIZATION_NAME) or by.get(x509.NameOID.COMMON_NAME) or "unknown"
    return Issued(chain, key, name, leaf.not_valid_before_utc, leaf.not_valid_after_utc)
