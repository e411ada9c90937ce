"""The node's side of the edge feed: edge records from NATS into a local store, and from there to nginx."""
