"""What a node says about a command of a newer control plane."""

import importlib.metadata


def explain_outdated(node: str, subject: str) -> str:
    """`subject` is what the command is about, such as the kind of its work."""
    version = importlib.metadata.version("stead")
    return f"The node {node} runs version {version}, which does not understand this command: {subject}."
