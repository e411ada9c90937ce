"""What can go wrong. Every error of this package is a `SteadError`.

An error of the API has the class of its code (`error_codes.SiteNotFound`), which is a subclass of that of its
type (`NotFound`). A code that this version does not know has the class of its type.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stead_sdk.types import Job


class SteadError(Exception):
    """The base of all errors."""


class ConfigurationError(SteadError):
    """The client lacks a key or an address."""


class APIConnectionError(SteadError):
    """No complete response arrived."""


class APITimeoutError(APIConnectionError):
    """No response arrived in time."""


class APIError(SteadError):
    """The API refused the request. `str()` says what happened; `doc_url` says what to do."""

    def __init__(self, status: int, error: Mapping[str, Any], request_id: str | None) -> None:
        self.status = status
        self.error = error
        self.type: str | None = error.get("type")
        self.code: str | None = error.get("code")
        self.message: str = error.get("message") or f"The server responded with status {status}."
        self.doc_url: str | None = error.get("doc_url")
        self.param: str | None = error.get("param")
        self.request_id = request_id
        super().__init__(self.message if request_id is None else f"{self.message} ({request_id})")


class InvalidRequest(APIError):
    """The request is wrong; `param` names the field."""


class AuthenticationError(APIError):
    """The credential is missing, wrong, expired or revoked."""


class PermissionDenied(APIError):
    """The credential or the role does not allow it."""


class NotFound(APIError):
    """It does not exist, or the credential cannot see it."""


class Conflict(APIError):
    """The state of the resource does not allow it."""


class QuotaExceeded(APIError):
    """The plan does not allow more."""


class RateLimited(APIError):
    """Too many requests."""


class ServerFault(APIError):
    """The server failed."""


class JobError(SteadError):
    """The base of errors about a job."""

    def __init__(self, job: "Job", message: str) -> None:
        self.job = job
        super().__init__(message)


class JobFailed(JobError):
    """A job has failed. `code` says why."""

    def __init__(self, job: "Job") -> None:
        error = job.error or {}
        self.code: str | None = error.get("code")
        super().__init__(job, str(error.get("message") or f"The job {job.id} has failed."))


class JobTimeout(JobError):
    """A job has not ended in the time that the caller gave it. It goes on."""

    def __init__(self, job: "Job") -> None:
        super().__init__(job, f"The job {job.id} has not ended yet.")


class WebhookVerificationError(SteadError):
    """A delivery is not from Stead, or too old."""


BY_TYPE: dict[str, type[APIError]] = {
    "invalid_request": InvalidRequest,
    "authentication": AuthenticationError,
    "permission": PermissionDenied,
    "not_found": NotFound,
    "conflict": Conflict,
    "quota_exceeded": QuotaExceeded,
    "rate_limit": RateLimited,
    "api_error": ServerFault,
}
_BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidRequest,
    401: AuthenticationError,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}


def error_of(status: int, body: object, request_id: str | None) -> APIError:
    """The error of a response. A proxy may have sent something that is not an error of the API."""
    from stead_sdk.error_codes import BY_CODE

    envelope = body if isinstance(body, dict) else {}
    error = envelope.get("error")
    error = error if isinstance(error, dict) else {}
    general = _BY_STATUS.get(status, ServerFault if status >= 500 else APIError)
    kind = BY_CODE.get(str(error.get("code"))) or BY_TYPE.get(str(error.get("type"))) or general
    return kind(status, error, envelope.get("request_id") or request_id)
