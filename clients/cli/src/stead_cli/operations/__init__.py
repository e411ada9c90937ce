"""What the generated commands do, by group."""
