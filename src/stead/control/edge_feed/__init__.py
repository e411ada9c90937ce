"""Edge records: built from the database, published to every edge of a region."""
