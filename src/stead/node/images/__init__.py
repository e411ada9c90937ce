"""The root file systems that customers' code runs in: made on this machine, named by what is in them."""
