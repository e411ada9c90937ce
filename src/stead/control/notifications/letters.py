"""Letters of notifications: plain text and HTML, one or many in each, and the way out of getting them."""

from collections.abc import Sequence
from html import escape

from stead.control.notifications.rules import MOST_IN_A_LETTER
from stead.control.notifications.store import Mailed
from stead.control.outbox.mail import Letter, one_line


def letter(to: str, notices: Sequence[Mailed], *, base_url: str, unsubscribe: str) -> Letter:
    shown = notices[:MOST_IN_A_LETTER]
    left = len(notices) - len(shown)
    worst = next((each for each in notices if each.severity in ("critical", "error")), notices[0])
    subject = worst.title if len(notices) == 1 else f"{len(notices)} notifications: {worst.title}"
    return Letter(
        to=to,
        subject=one_line(subject),
        text=_text(shown, left, base_url, unsubscribe),
        html=_html(shown, left, base_url, unsubscribe),
        unsubscribe=unsubscribe,
    )


def _text(notices: Sequence[Mailed], left: int, base_url: str, unsubscribe: str) -> str:
    parts = [
        f"{each.title}\n{one_line(each.body)}\n{each.created_at:%Y-%m-%d %H:%M} UTC"
        + (f", {each.site_id}" if each.site_id else "")
        for each in notices
    ]
    if left:
        parts.append(f"And {left} more.")
    parts.append(f"All of them: {base_url}/v1/notifications\nNo more mail like this: {unsubscribe}\n")
    return "\n\n".join(parts)


def _html(notices: Sequence[Mailed], left: int, base_url: str, unsubscribe: str) -> str:
    items = "".join(
        f"<li><p><strong>{escape(each.title)}</strong><br>{escape(one_line(each.body))}<br>"
        f"<small>{each.created_at:%Y-%m-%d %H:%M} UTC"
        + (f", {escape(each.site_id)}" if each.site_id else "")
        + "</small></p></li>"
        for each in notices
    )
    more = f"<p>And {left} more.</p>" if left else ""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><ul>{items}</ul>{more}"
        f'<p><small>All of them: {escape(base_url)}/v1/notifications · <a href="{escape(unsubscribe)}">'
        "No more mail like this</a></small></p></html>"
    )
