"""Why a source could not be fetched, from the exit code and the last lines of git or curl."""

import re

from stead.artifacts.refusals import printable

NO_REF, NO_COMMIT, SUBMODULE_FAILED = 10, 11, 13
"""Exit codes of `scripts/fetch.sh`."""
HTTP_ERROR, TOO_LARGE = 22, 63
"""Exit codes of curl."""

_EGRESS = re.compile(r"^egress: (?:refused )?(.*)$")
_KNOWN_MESSAGES = (
    ("it is not on the egress list", "it is not on the egress list"),
    ("its address is not public", "its address is not public"),
    ("its address is one of the platform", "its address is one of the platform"),
    ("error: 403", "access to it is refused"),
    ("Authentication failed", "authentication failed"),
    ("could not read Username", "it asks for a login: authentication failed"),
    ("could not read Password", "authentication failed"),
    ("Permission denied (publickey", "authentication failed: the key is not accepted"),
    ("Host key verification failed", "the host's key is not the one it had"),
    ("not found", "there is no such repository, or it may not be seen"),
    ("does not appear to be a git repository", "there is no such repository"),
)


def explain_git(code: int, ref: str, commit: str, host: str, limit: str, lines: list[str]) -> str:
    """`limit` is the limit of the sandbox that took effect, if any."""
    name, short = printable(ref), commit[:12]
    if code == NO_REF:
        return f"the branch or tag {name} does not exist" if ref else "the repository has no default branch"
    if code == NO_COMMIT:
        return f"the commit {short} does not exist, or is too far behind {name or 'the default branch'}"
    text = "\n".join(lines)
    known = next((reason for message, reason in _KNOWN_MESSAGES if message in text), last_line(lines))
    what = "a submodule" if code == SUBMODULE_FAILED else "the source"
    return f"{what} could not be fetched from {host}: {limit or known}"


def explain_egress(lines: list[str]) -> str | None:
    """What the egress proxy reported about the last target that could not be dialled, if any.

    curl sees only the proxy's status, which looks as if the target had answered with it."""
    found = [match for line in lines if (match := _EGRESS.search(line))]
    return printable(found[-1][1]) if found else None


def explain_http_status(lines: list[str]) -> str:
    found = re.search(r"error: (\d{3})", "\n".join(lines))
    return f"it answered {found[1]}" if found else last_line(lines)


def last_line(lines: list[str]) -> str:
    return printable(lines[-1]) if lines else "it said nothing"
