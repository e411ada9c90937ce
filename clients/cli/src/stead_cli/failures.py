"""What a failure says, and the exit code of the program."""

import os
import sys
import traceback
from typing import Any

import click

from stead_cli.texts import json_text, printable_lines, write_error
from stead_sdk import errors

FAILED, USAGE, JOB_FAILED, NEEDS_INPUT, NOT_FOUND, REFUSED, CONFLICT, UNAVAILABLE = range(1, 9)
INTERRUPTED = 130


class CliError(Exception):
    """A failure of the program itself. `fix` says what to do."""

    def __init__(self, message: str, *, code: str = "failed", fix: str = "", exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.code, self.fix, self.exit_code = code, fix, exit_code


class NeedsInput(CliError):
    """There is no terminal to ask at."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message, code="input.needed", fix=fix, exit_code=NEEDS_INPUT)


_CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.JobFailed, JOB_FAILED),
    (errors.JobTimeout, UNAVAILABLE),
    (errors.AuthenticationError, NEEDS_INPUT),
    (errors.NotFound, NOT_FOUND),
    (errors.PermissionDenied, REFUSED),
    (errors.QuotaExceeded, REFUSED),
    (errors.Conflict, CONFLICT),
    (errors.RateLimited, UNAVAILABLE),
    (errors.ServerFault, UNAVAILABLE),
    (errors.APIConnectionError, UNAVAILABLE),
    (errors.ConfigurationError, NEEDS_INPUT),
)
_FIXES: tuple[tuple[type[Exception], str], ...] = (
    (errors.AuthenticationError, "Sign in with `stead login`."),
    (errors.ConfigurationError, "Sign in with `stead login`, or set STEAD_BASE_URL and STEAD_API_KEY."),
    (errors.APIConnectionError, "Check the address and the connection with `stead doctor`."),
    (errors.JobTimeout, "It goes on. Follow it with `stead follow`."),
    (errors.RateLimited, "Wait a moment, and try again."),
)


def report(error: Exception, *, as_json: bool) -> int:
    """Print the failure, and return the exit code. As JSON it is the only output, on stdout."""
    told = describe(error)
    if os.environ.get("STEAD_DEBUG") == "trace":
        traceback.print_exception(error)
    if as_json:
        sys.stdout.write(json_text({"error": told}) + "\n")
    else:
        write_error(printable_lines(_text(told)))
    return exit_code_of(error)


def exit_code_of(error: Exception) -> int:
    if isinstance(error, CliError):
        return error.exit_code
    if isinstance(error, click.UsageError):
        return USAGE
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def describe(error: Exception) -> dict[str, Any]:
    fix = next((fix for kind, fix in _FIXES if isinstance(error, kind)), "")
    if isinstance(error, errors.APIError):
        known = {"message": error.message, "code": error.code or "unknown"}
        return {**error.error, **known, "request_id": error.request_id, **({"fix": fix} if fix else {})}
    if isinstance(error, CliError):
        return {"message": str(error), "code": error.code, **({"fix": error.fix} if error.fix else {})}
    if isinstance(error, click.ClickException):
        usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
        return {"message": error.format_message(), "code": "usage", **({"fix": usage} if usage else {})}
    if isinstance(error, errors.JobError):
        code = getattr(error, "code", None) or "job.unfinished"
        return {"message": str(error), "code": code, "job_id": error.job.id, **({"fix": fix} if fix else {})}
    if isinstance(error, errors.SteadError):
        code = "connection" if isinstance(error, errors.APIConnectionError) else "configuration"
        return {"message": str(error), "code": code, **({"fix": fix} if fix else {})}
    return {
        "message": f"{type(error).__name__}: {error}",
        "code": "unexpected",
        "fix": "Run it again with STEAD_DEBUG=trace, and report what it prints.",
    }


def _text(told: dict[str, Any]) -> str:
    lines = [f"error: {told['message']}"]
    if told.get("param"):
        lines.append(f"field: {told['param']}")
    lines += [
        f"{name}: {told[name]}" for name in ("fix", "doc_url", "request_id", "job_id") if told.get(name)
    ]
    return "\n".join(lines).replace("\nfix: Usage:", "\nUsage:") + "\n"
