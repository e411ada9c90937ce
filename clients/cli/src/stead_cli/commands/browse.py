"""`stead open` and `stead status`."""

from typing import Any

from stead_cli.session import Command, Session, show_fields, show_table


def _open(session: Session) -> None:
    site = session.client.sites.get(session.site_id)
    url = f"https://{site.domain}/"
    if session.env_id != "production":
        url = f"https://{session.client.environments.get(site.id, session.env_id).subdomain}/"
    if session.can_ask:
        from stead_cli.devices import has_browser

        if has_browser():
            import webbrowser

            webbrowser.open(url)
    session.show({"url": url} if session.as_json else url)


def _status(session: Session) -> None:
    client, site_id = session.client, session.site_id
    site = client.sites.get(site_id)
    environments = [each.to_dict() for each in client.environments.list(site_id)]
    deployments = [
        each.to_dict() for each in client.deployments.list(site_id, session.env_id, limit=5).page().data
    ]
    jobs = [each.to_dict() for each in client.jobs.list(site_id=site_id, limit=5).page().data]
    found: dict[str, Any] = {
        "site": site.to_dict(),
        "tls": client.sites.tls_get(site_id).to_dict(),
        "environments": environments,
        "deployments": deployments,
        "jobs": jobs,
    }
    if session.as_json:
        session.show(found)
        return
    summary = {
        name: found["site"].get(name) for name in ("domain", "id", "profile", "status", "status_reason")
    }
    show_fields({**summary, "certificate": found["tls"].get("state"), "installation": session.base_url})
    for title, rows, columns in (
        ("Environments", environments, ("id", "type", "branch", "status", "subdomain")),
        ("Last deployments", deployments, ("id", "kind", "status", "created_at")),
        ("Last jobs", jobs, ("id", "type", "status", "created_at")),
    ):
        if rows:
            session.show(f"\n{title}")
            show_table(rows, columns)


open = Command(  # noqa: A001 - the name of the command
    "open",
    callback=_open,
    site=True,
    environment=True,
    help="Open the site in a browser, and print its URL.",
)
status = Command(
    "status",
    callback=_status,
    site=True,
    environment=True,
    help="Show the linked site, its environments and its last deployments.",
)
