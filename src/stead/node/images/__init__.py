"""Images: the root file systems that customers' code runs in, made on this machine and named by their
content."""
