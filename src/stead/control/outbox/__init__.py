"""Records that commit with a change and are delivered afterwards: events, audit entries, email."""
