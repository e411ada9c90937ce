"""A client for certificate authorities that speak ACME. The library blocks, so requests run in threads."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

import requests
from acme import challenges, client, errors, messages
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from josepy.jwa import ES256
from josepy.jwk import JWK, JWKEC

from stead.control.certificates.acme_errors import parse_retry_after, translate_error
from stead.control.certificates.rules import Issued, Problem, RenewalWindow
from stead.control.engines.transaction_guard import require_no_transaction

T = TypeVar("T")

REQUEST_SECONDS = 15
NONCE_ATTEMPTS = 8
"""An authority may reject a fresh nonce at any time; the library itself tries only twice."""
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 0.2, 5.0
DECISION_SECONDS = 75.0
"""How long an authority may take to decide about a challenge or an order within one attempt."""

Order = messages.Order
Authorization = messages.Authorization
ChallengeBody = messages.ChallengeBody
PENDING, VALID, INVALID = messages.STATUS_PENDING, messages.STATUS_VALID, messages.STATUS_INVALID
_FINAL = (VALID, INVALID)
_PROCESSED = (messages.STATUS_READY, *_FINAL)


class AccountUnknown(Exception):
    """The authority does not know the account, or no longer knows it."""


class _Network(client.ClientNetwork):
    """Keeps the last response, because the library's errors contain neither its status nor Retry-After."""

    def __init__(self, key: JWK, trust: str) -> None:
        super().__init__(key, alg=ES256, user_agent="stead", timeout=REQUEST_SECONDS)
        self.last_response: requests.Response | None = None
        self.session.hooks["response"].append(self._keep)
        if trust:
            self.verify_ssl = trust  # type: ignore[assignment] # requests takes a path too

    def _keep(self, response: requests.Response, **_: object) -> None:
        self.last_response = response

    def post(self, *args: Any, **options: Any) -> requests.Response:
        for _ in range(NONCE_ATTEMPTS):
            try:
                return super().post(*args, **options)
            except messages.Error as error:
                if error.code != "badNonce":
                    raise
        raise errors.ClientError("the authority accepts no nonce")


class AcmeClient:
    """Talks to one authority with one account. Every failure is a Problem, or AccountUnknown."""

    def __init__(self, directory: str, account_key: bytes, *, uri: str | None, trust: str = "") -> None:
        private = serialization.load_pem_private_key(account_key, password=None)
        self._key = JWKEC(key=private)
        self._directory_url, self._network = directory, _Network(self._key, trust)
        self._directory: messages.Directory | None = None
        self._use_account(uri)

    def close(self) -> None:
        self._network.session.close()

    async def register(self, email: str) -> str:
        """Register the account and return its URI. Registering a key again returns the same account."""
        self._use_account(None)
        registration = messages.NewRegistration.from_data(email=email or None, terms_of_service_agreed=True)
        response = await self._post("newAccount", registration)
        uri = str(response.headers["Location"])
        self._use_account(uri)
        return uri

    async def create_order(self, host: str) -> tuple[str, Order]:
        identifier = messages.Identifier(typ=messages.IDENTIFIER_FQDN, value=host)
        response = await self._post("newOrder", messages.NewOrder(identifiers=[identifier]))
        return str(response.headers["Location"]), _parse_order(response)

    async def get_order(self, uri: str) -> Order:
        return _parse_order(await self._post(uri, None))

    async def get_authorizations(self, order: Order) -> dict[str, Authorization]:
        return {uri: await self._get_authorization(uri) for uri in order.authorizations}

    def solve_challenge(self, authorization: Authorization, *, by_dns: bool) -> tuple[ChallengeBody, str]:
        """The http-01 or dns-01 challenge, and the text that must be served at the address of its token, or
        in a TXT record."""
        kind = challenges.DNS01 if by_dns else challenges.HTTP01
        for body in authorization.challenges:
            if isinstance(body.chall, kind):
                return body, str(body.chall.validation(self._key))
        name = "DNS" if by_dns else "HTTP"
        raise Problem("ca_refused", f"The certificate authority offers no {name} challenge for this domain.")

    async def answer_challenge(self, challenge: ChallengeBody) -> None:
        """Tell the authority that the proof can be fetched."""
        await self._post(challenge.uri, challenge.chall.response(self._key))

    async def wait_for_decision(self, uri: str) -> Authorization:
        return await _poll(lambda: self._get_authorization(uri), lambda found: found.status != PENDING)

    async def finalize_order(self, uri: str, key: bytes, host: str) -> Order:
        """Request the certificate once the order is ready, and return the order once it is valid or not."""
        order = await _poll(lambda: self.get_order(uri), lambda found: found.status in _PROCESSED)
        if order.status == messages.STATUS_READY:
            signing_request = messages.CertificateRequest(csr=_build_signing_request(key, host))
            await self._post(order.finalize, signing_request)
            order = await _poll(lambda: self.get_order(uri), lambda found: found.status in _FINAL)
        return order

    async def download_certificate(self, order: Order, key: bytes) -> Issued:
        return _parse_certificate((await self._post(order.certificate, None)).text, key)

    async def get_renewal_window(self, chain: str) -> tuple[RenewalWindow | None, timedelta]:
        """When the authority suggests renewing a certificate, and how long to wait before asking again.

        The window is None if the authority offers no renewal information.
        """
        directory = await self._get_directory()
        return await self._request(lambda: self._fetch_renewal_window(directory, chain))

    def _fetch_renewal_window(
        self, directory: messages.Directory, chain: str
    ) -> tuple[RenewalWindow | None, timedelta]:
        client.ClientV2(directory, self._network).renewal_time(chain.encode())
        # The library returns a moment in the window, even if the window ends before it begins. The window
        # itself is in the response. There is none if the library had nothing to ask.
        response = self._network.last_response
        if response is None:
            return None, timedelta()
        window = messages.RenewalInfo.from_json(response.json()).suggested_window
        return RenewalWindow(window.start, window.end), parse_retry_after(response)

    async def _get_authorization(self, uri: str) -> Authorization:
        found: Authorization = Authorization.from_json((await self._post(uri, None)).json())
        return found

    def _use_account(self, uri: str | None) -> None:
        body = messages.Registration()
        self._network.account = messages.RegistrationResource(body=body, uri=uri) if uri else None

    async def _post(self, target: str, payload: Any) -> requests.Response:
        """`target` is a URL, or the name of one in the authority's directory."""
        directory = await self._get_directory()
        url = target if "://" in target else directory[target]
        return await self._request(
            lambda: self._network.post(url, payload, new_nonce_url=directory["newNonce"])
        )

    async def _get_directory(self) -> messages.Directory:
        if self._directory is None:
            self._directory = await self._request(self._fetch_directory)
        return self._directory

    def _fetch_directory(self) -> messages.Directory:
        return messages.Directory.from_json(self._network.get(self._directory_url).json())

    async def _request(self, send: Callable[[], T]) -> T:
        require_no_transaction("the certificate authority")
        self._network.last_response = None
        try:
            return await asyncio.to_thread(send)
        except Exception as error:  # noqa: BLE001 - the library raises many kinds
            if isinstance(error, messages.Error) and error.code == "accountDoesNotExist":
                raise AccountUnknown from None
            raise translate_error(error, self._network.last_response) from None


def generate_key() -> bytes:
    """Generate a private key in PEM, for an account or for a certificate."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


async def _poll(fetch: Callable[[], Awaitable[T]], is_done: Callable[[T], bool]) -> T:
    delay = FIRST_POLL_SECONDS
    try:
        async with asyncio.timeout(DECISION_SECONDS):
            while not is_done(found := await fetch()):
                await asyncio.sleep(delay)
                delay = min(delay * 1.5, MAX_POLL_SECONDS)
            return found
    except TimeoutError:
        raise Problem(
            "ca_unreachable", "The certificate authority has not decided yet. The request is retried."
        ) from None


def _parse_order(response: requests.Response) -> Order:
    order: Order = Order.from_json(response.json())
    return order


def _build_signing_request(key: bytes, host: str) -> x509.CertificateSigningRequest:
    private = serialization.load_pem_private_key(key, password=None)
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise TypeError("the key of a certificate must be an elliptic curve key")
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    # No common name: it is limited to 64 characters, and a host may be longer.
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(names, critical=True)
        .sign(private, hashes.SHA256())
    )


def _parse_certificate(chain: str, key: bytes) -> Issued:
    leaf = x509.load_pem_x509_certificate(chain.encode())
    issuer = {each.oid: str(each.value) for each in leaf.issuer}
    name = issuer.get(x509.NameOID.ORGANIZATION_NAME) or issuer.get(x509.NameOID.COMMON_NAME) or "unknown"
    return Issued(chain, key, name, leaf.not_valid_before_utc, leaf.not_valid_after_utc)
