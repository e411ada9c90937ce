"""What commits with a change and is delivered afterwards: events, audit records, mail."""
