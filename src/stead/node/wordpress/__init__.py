"""The WordPress runtime: sites of the profiles `vanilla` and `git_managed`."""
