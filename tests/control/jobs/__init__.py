"""Jobs: who reads them, who cancels them, which may run, and that what has ended stays as it was."""
