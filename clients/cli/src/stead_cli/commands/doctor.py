"""`stead doctor`."""

import os
import shutil
import sys
from typing import Any

from stead_cli import __version__, settings
from stead_cli.failures import FAILED, describe
from stead_cli.session import Command, Session


def _doctor(session: Session) -> int:
    checks: list[dict[str, Any]] = []

    def check(name: str, call: Any) -> bool:
        try:
            checks.append({"check": name, "ok": True, "detail": str(call())})
        except Exception as error:  # noqa: BLE001 - each finding is reported
            told = describe(error)
            detail = " ".join(filter(None, [told["message"], told.get("fix", "")]))
            checks.append({"check": name, "ok": False, "detail": detail})
        return bool(checks[-1]["ok"])

    check("version", lambda: f"stead {__version__}, Python {sys.version.split()[0]}")
    check("settings", lambda: f"{settings.config_file()}, profile {session.profile}")
    check("file mode", _private)
    if check("address", lambda: session.base_url):
        check(
            "connection",
            lambda: session.client_for(session.base_url, "").request("GET", "/v1/openapi.json").status,
        )
    if check("key", lambda: f"…{session.api_key[-4:]}"):
        check(
            "account",
            lambda: _limits(session),
        )
    check("link", lambda: session.link.get("domain") or "this folder is not linked")
    check("ssh", lambda: shutil.which("ssh") or "not installed: `stead ssh` will not work")
    if session.as_json:
        session.show(checks)
    else:
        for each in checks:
            session.show(f"{'ok  ' if each['ok'] else 'FAIL'}  {each['check']:<11} {each['detail']}")
    return 0 if all(each["ok"] for each in checks) else FAILED


def _limits(session: Session) -> str:
    buckets = session.client.rate_limits.get().buckets
    return ", ".join(f"{each.class_}: {each.remaining} of {each.limit} requests left" for each in buckets)


def _private() -> str:
    file = settings.config_file()
    if not file.exists():
        return "no file yet"
    if os.name == "posix" and file.stat().st_mode & 0o077:
        raise PermissionError(f"{file} can be read by others: chmod 600 {file}")
    return "only you can read it"


doctor = Command("doctor", callback=_doctor, help="Check the settings, the connection and the key.")
