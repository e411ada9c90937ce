"""The event feed, and the sequencer that numbers events."""
