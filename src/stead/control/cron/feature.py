"""Scheduled events of WordPress sites."""

from stead.control.cron import operations
from stead.control.feature import Feature

FEATURE = Feature(name="cron", operations=[operations.operation], id_prefixes={"cron_id": "cron"})
