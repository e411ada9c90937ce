"""The asyncio client. `_sync` is generated from these modules: `make generate`."""
