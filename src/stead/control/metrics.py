"""The metrics of the API and of the worker, each declared once. The tables in `docs/monitoring.md` are
generated from them."""

from stead.shared.metrics import Metrics, TaskMetrics

COUNT_TO = 100_000
"""Longer queues are not counted to their end."""
REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
STEP_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800)

API = Metrics()
"""Served on `STEAD_METRICS_PORT`."""

requests = API.counter("stead_requests_total", "Handled requests.", "operation", "status")
seconds = API.histogram(
    "stead_request_seconds",
    "Seconds from the first byte of a request to its response.",
    "operation",
    buckets=REQUEST_SECONDS,
)
limits_unenforced = API.counter(
    "stead_limits_unenforced_total", "Requests without rate limits because Redis was unreachable."
)
database_unreachable = API.counter(
    "stead_database_unreachable_total", "Requests refused because PostgreSQL was unreachable."
)
statement_timeouts = API.counter(
    "stead_statement_timeouts_total",
    "Requests answered with 503 `database.timeout`: a statement took longer than seven seconds. The database"
    " is reachable, and most likely busy.",
    "operation",
)
faults = API.counter(
    "stead_faults_total",
    "Requests that failed because of a bug. Each is logged as `request.fault` with its location.",
    "operation",
)
requests_cut_off = API.counter(
    "stead_requests_cut_off_total",
    "Connections closed because of a limit of the server"
    " ([`security.md`](security.md#limits-of-the-http-server)).",
    "reason",
)
for _reason in ("stalled", "connections"):
    requests_cut_off.labels(_reason)
unknown_credentials = API.counter(
    "stead_unknown_credentials_total",
    "Requests with a credential that does not exist. A sudden increase is somebody who guesses, or a client"
    " with a wrong key.",
)
redis_connected = API.gauge("stead_redis_connected", "1 while this process has a Redis connection.")
open_streams = API.gauge("stead_open_streams", "Open streams of server-sent events.")
edge_records_skipped = API.gauge(
    "stead_edge_records_skipped",
    "Edge records that do not fit in the memory of a node's nginx. Logged as `edge.records_skipped` when it"
    " changes.",
    "node",
)
api_tasks = TaskMetrics(API)

WORKER = Metrics()
"""Served on `STEAD_WORKER_PORT`."""

jobs_waiting = WORKER.gauge("stead_jobs_waiting", "Jobs that are queued.", "kind")
jobs_oldest_waiting = WORKER.gauge(
    "stead_jobs_oldest_waiting_seconds", "For how long the oldest queued job has been waiting.", "kind"
)
jobs_running = WORKER.gauge("stead_jobs_running", "Jobs that are running.", "kind")
jobs_oldest_running = WORKER.gauge(
    "stead_jobs_oldest_running_seconds",
    "How long ago the oldest running job was claimed by a worker.",
    "kind",
)
jobs_time_limit = WORKER.gauge(
    "stead_jobs_time_limit_seconds", "How long a job may run before its steps are undone.", "kind"
)
jobs_ended = WORKER.counter(
    "stead_jobs_ended_total",
    "Jobs that this worker ended; `code` is `done` if they succeeded.",
    "kind",
    "code",
)
steps_running = WORKER.gauge("stead_steps_running", "Steps of jobs that this worker is running.", "kind")
step_seconds = WORKER.histogram(
    "stead_step_seconds",
    "Seconds that one attempt at a step took.",
    "kind",
    "step",
    buckets=STEP_SECONDS,
)
step_attempts = WORKER.counter(
    "stead_step_attempts_total",
    "Attempts at steps by their result; one that is `retried` is repeated.",
    "kind",
    "step",
    "code",
)
events_waiting = WORKER.gauge(
    "stead_events_waiting", "Published events that no sequencer has processed yet. Counts to 100,000."
)
events_oldest_waiting = WORKER.gauge(
    "stead_events_oldest_waiting_seconds", "The age of the oldest event that is not processed yet."
)
webhooks_waiting = WORKER.gauge(
    "stead_webhook_deliveries_waiting",
    "Webhook deliveries that have not ended, retries included. Counts to 100,000.",
)
webhooks_oldest_due = WORKER.gauge(
    "stead_webhook_deliveries_oldest_due_seconds",
    "For how long a delivery has been due to an endpoint that works and that nothing is being sent to.",
)
webhook_attempts = WORKER.counter(
    "stead_webhook_attempts_total",
    "Attempts to deliver webhooks: `delivered`, `pending` if it will be repeated, or `failed`.",
    "outcome",
)
for _outcome in ("delivered", "pending", "failed"):
    webhook_attempts.labels(_outcome)
mail_waiting = WORKER.gauge("stead_mail_waiting", "Emails that are not sent yet.")
mail_oldest = WORKER.gauge("stead_mail_oldest_seconds", "The age of the oldest email that is not sent yet.")
mail_attempts = WORKER.counter(
    "stead_mail_attempts_total",
    "Attempts to send an email: `sent`, `failed` if it will be repeated, or `dropped`.",
    "outcome",
)
for _outcome in ("sent", "failed", "dropped"):
    mail_attempts.labels(_outcome)
telemetry_waiting = WORKER.gauge(
    "stead_telemetry_chunks_waiting",
    "Chunks of nodes that are not in ClickHouse yet. Counts to 100,000.",
)
telemetry_rows = WORKER.counter(
    "stead_telemetry_rows_total", "Rows of nodes that this worker has inserted into ClickHouse."
)
telemetry_rows_dropped = WORKER.counter(
    "stead_telemetry_rows_dropped_total",
    "Rows that this worker has dropped: the node did not host the environment then (`not_hosted`), or the"
    " chunk is not valid (`unreadable`).",
    "reason",
)
for _reason in ("not_hosted", "unreadable"):
    telemetry_rows_dropped.labels(_reason)
node_silent = WORKER.gauge("stead_node_silent_seconds", "Seconds since the last heartbeat of a node.", "node")
edge_feed_lag = WORKER.gauge(
    "stead_edge_feed_lag_seconds",
    "The age of the oldest record that a node's edge has not applied; 0 if it has applied all.",
    "node",
)
measured_at = WORKER.gauge(
    "stead_measured_timestamp_seconds",
    "When this worker last read the values above from the database, in seconds since 1970.",
)
backups_overdue = WORKER.gauge("stead_backups_overdue", "Sites that have no new snapshot on the second day.")
backups_with_problem = WORKER.gauge(
    "stead_backups_with_problem", "Repositories that are suspicious or damaged; nothing is removed from them."
)
backups_unmaintained = WORKER.gauge(
    "stead_backups_unmaintained", "Repositories whose last maintenance ended more than three days ago."
)
backups_oldest_uncopied = WORKER.gauge(
    "stead_backups_oldest_uncopied_seconds",
    "For how long the oldest snapshot has been waiting for the second store; 0 without one.",
)
scanned_environments = WORKER.gauge(
    "stead_scanned_environments", "Environments that are scanned for malware."
)
scans_without_result = WORKER.gauge(
    "stead_scans_without_result", "Environments whose last scan has ended with an error."
)
vulnerability_feed_age = WORKER.gauge(
    "stead_vulnerability_feed_age_seconds",
    "Seconds since the vulnerability feed was last read completely; infinite if it never was, 0 without one.",
)
worker_tasks = TaskMetrics(WORKER)
