"""`python -m tests.robustness.frequent_node`: a node that sends heartbeats four times a second, for tests in
which time passes faster."""

from stead.node import agent, main

agent.HEARTBEAT_SECONDS = 0.25

if __name__ == "__main__":
    main.run()
