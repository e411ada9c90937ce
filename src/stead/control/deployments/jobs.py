"""What the jobs of deployments carry with them."""

from msgspec import Struct


class DeploymentWork(Struct, frozen=True):
    deployment: str
