"""Job streams between real API processes: every line once, in order, wherever a client reconnects."""
