"""Jobs, as callers of the API see them."""

from stead.control.feature import Feature
from stead.control.jobs import events, operations, service

FEATURE = Feature(
    name="jobs",
    operations=[operations.operation],
    resolvers=[service.visible_job],
    id_prefixes={"job_id": "job"},
    events=[events.JOB_QUEUED, events.JOB_STARTED, events.JOB_SUCCEEDED, events.JOB_FAILED],
)
