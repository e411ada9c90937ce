"""The email for one or more notifications, in plain text and HTML, with an unsubscribe link."""

from collections.abc import Sequence
from html import escape

from stead.control.notifications.rules import MAX_PER_EMAIL
from stead.control.notifications.store import DigestEntry
from stead.control.outbox.mail import Email, one_line


def notification_email(
    to: str, entries: Sequence[DigestEntry], *, base_url: str, unsubscribe_url: str
) -> Email:
    shown = entries[:MAX_PER_EMAIL]
    omitted = len(entries) - len(shown)
    headline = next((each for each in entries if each.severity in ("critical", "error")), entries[0])
    subject = headline.title if len(entries) == 1 else f"{len(entries)} notifications: {headline.title}"
    return Email(
        to=to,
        subject=one_line(subject),
        text=_text(shown, omitted, base_url, unsubscribe_url),
        html=_html(shown, omitted, base_url, unsubscribe_url),
        unsubscribe=unsubscribe_url,
    )


def _text(entries: Sequence[DigestEntry], omitted: int, base_url: str, unsubscribe_url: str) -> str:
    parts = [
        f"{each.title}\n{one_line(each.body)}\n{each.created_at:%Y-%m-%d %H:%M} UTC"
        + (f", {each.site_id}" if each.site_id else "")
        for each in entries
    ]
    if omitted:
        parts.append(f"And {omitted} more.")
    parts.append(
        f"All notifications: {base_url}/v1/notifications\nUnsubscribe from these emails: {unsubscribe_url}\n"
    )
    return "\n\n".join(parts)


def _html(entries: Sequence[DigestEntry], omitted: int, base_url: str, unsubscribe_url: str) -> str:
    items = "".join(
        f"<li><p><strong>{escape(each.title)}</strong><br>{escape(one_line(each.body))}<br>"
        f"<small>{each.created_at:%Y-%m-%d %H:%M} UTC"
        + (f", {escape(each.site_id)}" if each.site_id else "")
        + "</small></p></li>"
        for each in entries
    )
    more = f"<p>And {omitted} more.</p>" if omitted else ""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><ul>{items}</ul>{more}"
        f"<p><small>All notifications: {escape(base_url)}/v1/notifications ·"
        f' <a href="{escape(unsubscribe_url)}">Unsubscribe from these emails</a></small></p></html>'
    )
