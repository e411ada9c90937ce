"""TLS certificates of the sites' hosts: ordered from an ACME authority, published to the edges, renewed."""
