"""The metrics for Prometheus, served on a separate port."""

from prometheus_client import Counter, Gauge, Histogram, start_http_server

requests = Counter("stead_requests_total", "Handled requests.", ["operation", "status"])
seconds = Histogram(
    "stead_request_seconds",
    "Seconds from the first byte of a request to its response.",
    ["operation"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
limits_unenforced = Counter(
    "stead_limits_unenforced_total", "Requests without rate limits because Redis was unreachable."
)
database_unreachable = Counter(
    "stead_database_unreachable_total", "Requests refused because PostgreSQL was unreachable."
)
faults = Counter("stead_faults_total", "Requests that failed with an internal error.", ["operation"])
redis_connected = Gauge("stead_redis_connected", "1 while this process has a Redis connection.")


def serve(port: int, host: str) -> None:
    """Serve the metrics in a background thread."""
    start_http_server(port, addr=host)
