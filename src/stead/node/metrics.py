"""The metrics of a node and of its edge, each declared once. The table in `docs/monitoring.md` is generated
from them."""

from stead.shared.metrics import Metrics, TaskMetrics

COMMAND_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800)

NODE = Metrics()
"""Served on `STEAD_NODE_HEALTH_PORT`."""

nats_connected = NODE.gauge("stead_node_nats_connected", "1 while the node is connected to NATS.")
commands_running = NODE.gauge("stead_node_commands_running", "Commands that are running or wait.", "kind")
command_seconds = NODE.histogram(
    "stead_node_command_seconds",
    "Seconds that a command took, with all repetitions and the time it waited for others.",
    "kind",
    buckets=COMMAND_SECONDS,
)
commands_ended = NODE.counter("stead_node_commands_total", "Commands by their result.", "kind", "code")
results_waiting = NODE.gauge(
    "stead_node_results_waiting", "Results that the control plane has not received yet. Counts to 1,000."
)
disk_size = NODE.gauge("stead_node_disk_size_bytes", "The size of the file system with the node's data.")
disk_free = NODE.gauge("stead_node_disk_free_bytes", "How much of it is free.")
disk_files_free = NODE.gauge(
    "stead_node_disk_files_free", "How many more files it can hold; -1 if it has no such limit."
)
short_of_space = NODE.gauge(
    "stead_node_short_of_space", "1 while the node refuses releases and builds because its disk is too full."
)
telemetry_waiting = NODE.gauge(
    "stead_node_telemetry_waiting_bytes", "What the control plane has not received yet about visits."
)
telemetry_lost = NODE.gauge(
    "stead_node_telemetry_lost_rows",
    "Visits that were lost since the start, because the control plane was unreachable for too long.",
)
edge_up = NODE.gauge("stead_edge_up", "1 while the node's nginx answers.")
edge_complete = NODE.gauge("stead_edge_complete", "1 while nginx has all records of its region.")
edge_hosts = NODE.gauge("stead_edge_hosts", "Hosts that nginx answers for.")
edge_memory_size = NODE.gauge("stead_edge_memory_size_bytes", "The size of a shared memory.", "memory")
edge_memory_free = NODE.gauge(
    "stead_edge_memory_free_bytes",
    "How much of it is free, in whole pages. `certificates`, `pages`, `lockout` and `misses` are caches, and"
    " normally full.",
    "memory",
)
node_tasks = TaskMetrics(NODE)
