"""The page that `doc_url` of an error links to: Markdown under `docs/errors/`, and HTML for browsers."""

from html import escape
from pathlib import Path

from stead.shared.errors import ApiError, catalog

MEANING = {
    "invalid_request": "The request is malformed, a field is wrong or missing, or a value is not supported.",
    "authentication": "The credential is missing, malformed, expired or revoked.",
    "permission": "The resource is visible, but this credential may not do that to it.",
    "not_found": "The resource does not exist or is not visible to this credential.",
    "conflict": "The request conflicts with the current state.",
    "quota_exceeded": "A quota of the plan is exhausted.",
    "rate_limit": "A rate limit is exceeded.",
    "api_error": "The platform failed to process the request.",
}


def markdown(error: type[ApiError]) -> str:
    return (
        f"# `{error.code}`\n\n"
        f"Type `{error.type}`, HTTP status {error.status}.\n\n"
        f"> {error.message}\n\n"
        f"{MEANING[error.type]}\n\n"
        f"**What to do.** {error.remedy}\n"
    )


def index() -> str:
    lines = ["# Errors", "", "Match on `code`; a `message` may be reworded.", ""]
    lines += ["| code | type | status | what to do |", "|---|---|---|---|"]
    lines += [
        f"| [`{error.code}`]({error.type}/{error.code}.md) | `{error.type}` | {error.status} | {error.remedy}"
        " |"
        for error in catalog()
    ]
    return "\n".join(lines) + "\n"


def pages() -> dict[Path, str]:
    """Every page, by its path under `docs/errors/`."""
    by_path = {Path(error.type) / f"{error.code}.md": markdown(error) for error in catalog()}
    return {Path("README.md"): index(), **by_path}


def html(error: type[ApiError]) -> str:
    return page(
        error.code,
        f"<h1><code>{escape(error.code)}</code></h1>"
        f"<p>Type <code>{escape(error.type)}</code>, HTTP status {error.status}.</p>"
        f"<blockquote>{escape(error.message)}</blockquote><p>{escape(MEANING[error.type])}</p>"
        f"<p><strong>What to do.</strong> {escape(error.remedy)}</p>",
    )


def html_index() -> str:
    rows = "".join(
        f'<tr><td><a href="/docs/errors/{error.type}/{escape(error.code)}">'
        f"<code>{escape(error.code)}</code></a>"
        f"<td>{error.status}<td>{escape(error.remedy)}"
        for error in catalog()
    )
    return page(
        "Errors",
        "<h1>Errors</h1><p>Match on <code>code</code>; a <code>message</code> may be reworded.</p>"
        f"<table>{rows}</table>",
    )


def page(title: str, content: str) -> str:
    """A documentation page around `content`, which must be HTML."""
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        f"<link rel=stylesheet href=/docs/page.css><main>{content}"
        '<p><a href="/docs">API reference</a></p></main>'
    )
