"""A private certificate authority for development and tests."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_PEM = serialization.Encoding.PEM


class CertificateAuthority:
    """Writes all its files into one directory. Clients must trust `root_file`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Private test authority")])
        root = (
            self._build_certificate(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.root_file = directory / "authority.pem"
        self.root_file.write_bytes(root.public_bytes(_PEM))

    def issue(self, *names: str, days: int = 30) -> tuple[Path, Path]:
        """Issues a certificate for these host names and addresses. Returns its file and that of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a server")])
        issued = (
            self._build_certificate(subject, key, days)
            .add_extension(
                x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        stem = f"server-{issued.serial_number:x}"
        certificate, private_key = self._directory / f"{stem}.pem", self._directory / f"{stem}.key"
        certificate.write_bytes(issued.public_bytes(_PEM))
        private_key.write_bytes(
            key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        return certificate, private_key

    def server_context(self, *names: str, days: int = 30) -> ssl.SSLContext:
        """For a server with a new certificate for these names."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(*names, days=days))
        return context

    def client_context(self) -> ssl.SSLContext:
        """For a client that trusts this authority."""
        return ssl.create_default_context(cafile=str(self.root_file))

    def _build_certificate(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: int = 30
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=60))
            .not_valid_after(now + timedelta(days=days))
        )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
