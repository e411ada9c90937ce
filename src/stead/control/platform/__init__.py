"""What every feature stands on: operations, the database, limits, idempotency, pages, OpenAPI."""
