"""WordPress sites: their administrator, and what each plan lets them use."""
