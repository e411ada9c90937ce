"""The edge feed: edge records are built from the database and published to every edge of a region."""
