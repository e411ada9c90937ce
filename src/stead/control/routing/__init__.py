"""What the edges are told of an environment: always made anew from what the database says."""
