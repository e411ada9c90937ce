"""Reading the audit trail. `outbox/audit.py` writes it."""
