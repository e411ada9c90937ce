"""Signing in on a device without a browser (RFC 8628): codes, states and errors. No I/O."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stead.shared.errors import Conflict, Forbidden, InvalidRequest, NotFound
from stead.shared.ids import AccountId

PATH = "/device"
"""The page where people approve a sign-in."""
LIFETIME = timedelta(minutes=10)
REPEATABLE = timedelta(minutes=1)
"""How long a key can be collected again, in place of the first one: its response may have been lost."""
POLL_SECONDS = 5
KEY_DAYS = 90
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Consonants that nobody confuses, and that make no words."""
_LENGTH = 8

Status = Literal["pending", "approved", "denied"]


@dataclass(frozen=True, slots=True)
class DeviceAuthorization:
    id: str
    user_code: str
    machine_name: str
    scopes: list[str]
    network: str
    status: Status
    account_id: AccountId | None
    password_mark: bytes | None
    """Of the password with which it was decided."""
    key_id: str | None
    redeemed_at: datetime | None
    created_at: datetime
    expires_at: datetime


def new_user_code() -> str:
    """Such as `WDJB-MJHT` (34 bits). It is valid for ten minutes, and attempts are counted."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return f"{letters[:4]}-{letters[4:]}"


def normalize_user_code(text: str) -> str:
    """As people type it: in small letters, with spaces, without the hyphen."""
    letters = "".join(each for each in text[:40].upper() if each in _LETTERS)
    return f"{letters[:4]}-{letters[4:]}"


class DeviceCodeNotFound(NotFound):
    code = "device.not_found"
    message = "No device waits for a sign-in with this code."
    remedy = "Compare the code with the one on the device. It is valid for ten minutes: sign in there again."


class SessionRequired(Forbidden):
    code = "device.session_required"
    message = "Only a person who has signed in can let a device sign in."
    remedy = "Use the token of `POST /v1/sessions`, or the page that the device names."


class DevicePending(Conflict):
    code = "device.pending"
    message = "Nobody has approved the sign-in yet."
    remedy = "Ask again after `interval` seconds."


class DeviceDenied(Forbidden):
    code = "device.denied"
    message = "The sign-in was denied."
    remedy = "Sign in again, if that was a mistake."


class DeviceExpired(InvalidRequest):
    code = "device.expired"
    message = "The device code is not valid any more."
    remedy = "Sign in again: `POST /v1/device-authorizations`."
