"""Reading the audit trail that the platform writes."""
