"""The node that a stack runs on this machine."""

from pathlib import Path

LOCAL_NODE = "node-dev"
LOCAL_REGION = "us-east"
NODE_PROGRAM = "node"


def node_home(data: Path) -> Path:
    """The node's directory inside the data directory of the stack. nginx serves releases from it."""
    return data / NODE_PROGRAM
