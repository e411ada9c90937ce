"""The metrics of the repository gateway. The table in `docs/monitoring.md` is generated from them."""

from stead.shared.metrics import Metrics

REPOSITORIES = Metrics()
"""Served on `STEAD_REPOSITORIES_METRICS_PORT`."""

requests = REPOSITORIES.counter(
    "stead_repository_requests_total",
    "Requests of restic on nodes by their result: `done`, or why they were refused.",
    "outcome",
)
for _outcome in ("done", "over_budget", "token_refused", "store_unavailable"):
    requests.labels(_outcome)
added_bytes = REPOSITORIES.counter("stead_repository_added_bytes_total", "Bytes added to repositories.")
read_bytes = REPOSITORIES.counter("stead_repository_read_bytes_total", "Bytes read from repositories.")
uploading_bytes = REPOSITORIES.gauge(
    "stead_repository_uploading_bytes", "Memory that is reserved for files that are being uploaded."
)
cut_off = REPOSITORIES.counter(
    "stead_repository_connections_cut_off_total",
    "Connections closed because of a limit of the server.",
    "reason",
)
for _reason in ("stalled", "connections"):
    cut_off.labels(_reason)
