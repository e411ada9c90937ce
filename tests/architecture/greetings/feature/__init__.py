"""A feature of an operation, a job with a node step, an event and a periodic task."""
