"""Attempts to sign in, with wrong credentials, wrong names and weak algorithms."""

from collections.abc import Callable
from typing import Any

import asyncssh
import msgspec

from tests.node.ssh.attempts.registry import LOGIN_ERRORS, attempt, connected, new_key
from tests.node.ssh.gateway_node import PASSWORD, GatewayNode, Key


def _add_login(name: str, make: Callable[[GatewayNode], dict[str, Any]]) -> None:
    """An attempt to sign in."""

    @attempt(f"sign in: {name}")
    async def _(gateway: GatewayNode) -> bool:
        try:
            async with connected(gateway, **make(gateway)) as connection:
                return (await connection.run("echo in")).exit_status == 0
        except LOGIN_ERRORS:
            return False


def _stolen(gateway: GatewayNode) -> list[Any]:
    """The public key of the owner with the private key of somebody else."""
    (pair,) = asyncssh.load_keypairs(str(new_key(gateway, "thief").file))
    pair.public_data = gateway.key.blob
    return [pair]


def _certificate(gateway: GatewayNode) -> list[Any]:
    """Signed by a certificate authority of the attacker."""
    authority = asyncssh.read_private_key(new_key(gateway, "authority").file)
    own = asyncssh.read_private_key(new_key(gateway, "certified").file)
    return [(own, authority.generate_user_certificate(own, "owner", principals=[gateway.user]))]


_LOGINS: dict[str, Callable[[GatewayNode], dict[str, Any]]] = {
    "without any credential": lambda _: {"client_keys": None},
    "an unknown key": lambda g: {"client_keys": [str(new_key(g, "stranger").file)]},
    "an unknown RSA key": lambda g: {"client_keys": [str(new_key(g, "rsa", "-t", "rsa").file)]},
    "the public key of somebody else": lambda g: {"client_keys": _stolen(g)},
    "a certificate of an own authority": lambda g: {"client_keys": _certificate(g)},
    "a guessed password": lambda _: {"client_keys": None, "password": "secret"},
    "an empty password": lambda _: {"client_keys": None, "password": ""},
    "a very long password": lambda _: {"client_keys": None, "password": "x" * 20_000},
    "the password of another site": lambda _: {
        "client_keys": None,
        "password": PASSWORD,
        "username": "other",
    },
    "another site": lambda _: {"username": "other"},
    "a site that does not exist": lambda _: {"username": "nothing-here"},
    "root": lambda _: {"username": "root"},
    "a path as the user name": lambda g: {"username": f"../{g.user}"},
    "a pattern as the user name": lambda _: {"username": "%"},
    "a quoted user name": lambda g: {"username": f"{g.user}' or '1'='1"},
    "a user name in capitals": lambda g: {"username": g.user.upper()},
    "a very long user name": lambda _: {"username": "x" * 5000},
    "an RSA key with SHA-1": lambda g: {
        "username": "weak",
        "client_keys": [str(new_key(g, "weak-rsa", "-t", "rsa").file)],
        "signature_algs": ["ssh-rsa"],
    },
    "a DSA key": lambda g: {
        "username": "weak",
        "client_keys": [str(new_key(g, "weak-dsa", "-t", "dsa").file)],
        "signature_algs": ["ssh-dss"],
    },
    "an expired key": lambda _: {"username": "expired"},
    "CBC": lambda _: {"encryption_algs": ["aes128-cbc", "3des-cbc"]},
    "an expensive key exchange": lambda _: {"kex_algs": ["diffie-hellman-group16-sha512"]},
    "a key exchange with SHA-1": lambda _: {"kex_algs": ["diffie-hellman-group14-sha1"]},
    "a MAC with SHA-1": lambda _: {"encryption_algs": ["aes128-ctr"], "mac_algs": ["hmac-sha1"]},
    "compression": lambda _: {"compression_algs": ["zlib@openssh.com"]},
}
for _name, _make in _LOGINS.items():
    _add_login(_name, _make)


def prepare(gateway: GatewayNode) -> None:
    """Keys that would be admitted if their type or their age did not matter, and another site."""
    weak = [new_key(gateway, f"weak-{kind}", "-t", kind).access() for kind in ("rsa", "dsa")]
    gateway.admit(*weak, user="weak", environment="env_weak")
    expired = replace_expiry(gateway.key)
    gateway.admit(expired, password=False, user="expired", environment="env_expired")
    gateway.admit(new_key(gateway, "others").access(), password=False, user="other", environment="env_other")


def replace_expiry(key: Key) -> Any:
    return msgspec.structs.replace(key.access(), expires_at=1.0)
