"""Checks of what a request says about a function."""

from collections.abc import Sequence
from datetime import date

import msgspec

from stead.control.functions.rules import (
    FILENAMES,
    FIRST_COMPATIBILITY_DATE,
    MAX_ENV_BYTES,
    MAX_SETTINGS_BYTES,
    MAX_SOURCE_BYTES,
    WITHOUT_TOOLCHAIN,
    BindingUnsupported,
    Language,
    LanguageUnsupported,
    is_host_pattern,
    is_route,
)
from stead.control.functions.schema import Binding
from stead.shared.errors import FieldInvalid

_CONFIG = {"kv": "namespace", "coord": "namespace", "fetch": "allow", "service": "function"}
"""The field of the configuration that each kind of binding needs. The others must be empty."""


def require_language(language: Language) -> None:
    if language not in FILENAMES:
        raise LanguageUnsupported(param="language", language=language, reason=WITHOUT_TOOLCHAIN[language])


def require_source(source: str | None, upload: str | None) -> None:
    if source is not None and upload is not None:
        raise FieldInvalid(param="upload_id", reason="A function is built from `source` or from an upload.")
    if source is not None and len(source.encode("utf-8", "replace")) > MAX_SOURCE_BYTES:
        raise FieldInvalid(param="source", reason=f"The source has more than {MAX_SOURCE_BYTES} bytes.")
    if source is not None and "\0" in source:
        raise FieldInvalid(param="source", reason="The source contains a zero byte.")


def require_compatibility_date(text: str, today: date) -> None:
    try:
        wanted = date.fromisoformat(text)
    except ValueError:
        raise FieldInvalid(param="compatibility_date", reason="It is no day of the calendar.") from None
    if not date.fromisoformat(FIRST_COMPATIBILITY_DATE) <= wanted <= today:
        reason = f"It is a day from {FIRST_COMPATIBILITY_DATE} up to today."
        raise FieldInvalid(param="compatibility_date", reason=reason)


def require_route(path: str) -> None:
    if path and not is_route(path):
        reason = "It must begin with a slash, and be a path without dots between slashes and without a query."
        raise FieldInvalid(param="route_path", reason=reason)


def require_variables(env: dict[str, str], secret_refs: Sequence[str], bindings: Sequence[Binding]) -> None:
    """Every name in `env` of the function stands for one thing."""
    if sum(len(name) + len(value.encode("utf-8", "replace")) for name, value in env.items()) > MAX_ENV_BYTES:
        raise FieldInvalid(param="env", reason=f"All variables together have at most {MAX_ENV_BYTES} bytes.")
    if any("\0" in value for value in env.values()):
        raise FieldInvalid(param="env", reason="A value contains a zero byte.")
    seen: set[str] = set()
    for param, names in (
        ("env", list(env)),
        ("secret_refs", list(secret_refs)),
        ("bindings", [binding.name for binding in bindings]),
    ):
        for name in names:
            if name in seen:
                raise FieldInvalid(param=param, reason=f"The name {name} is used twice.")
            seen.add(name)


def require_small_settings(env: dict[str, str], bindings: Sequence[Binding], others: int) -> None:
    """`others` is the size of what the other functions of the site have."""
    sizes = {"env": len(msgspec.json.encode(env)), "bindings": len(msgspec.json.encode(bindings))}
    if sum(sizes.values()) + others > MAX_SETTINGS_BYTES:
        reason = (
            f"The variables and bindings of all functions of a site have at most {MAX_SETTINGS_BYTES} bytes"
            " together."
        )
        raise FieldInvalid(param=max(sizes, key=lambda name: sizes[name]), reason=reason)


def require_bindings(bindings: Sequence[Binding], slug: str) -> None:
    for number, binding in enumerate(bindings):
        if binding.kind == "cron":
            raise BindingUnsupported(param=f"bindings.{number}.kind", kind=binding.kind)
        needed = _CONFIG[binding.kind]
        for field in ("namespace", "allow", "function"):
            if bool(getattr(binding.config, field)) != (field == needed):
                expected = "is needed" if field == needed else "is not used"
                raise FieldInvalid(
                    param=f"bindings.{number}.config.{field}",
                    reason=f"It {expected} by a binding of the kind {binding.kind}.",
                )
        for host in binding.config.allow:
            if not is_host_pattern(host):
                reason = "A host is written as `host`, `*.host` or `host:port`, in lower case."
                raise FieldInvalid(param=f"bindings.{number}.config.allow", reason=reason)
        if binding.config.function == slug:
            reason = "A function cannot be bound to itself."
            raise FieldInvalid(param=f"bindings.{number}.config.function", reason=reason)
