"""`steadctl ssh`: speaks SSH with people, and asks the agent of the node for everything else."""
