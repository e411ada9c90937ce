"""Deployments: deploy, promote, roll back."""

from stead.control.deployments import operations, service, workflows
from stead.control.feature import Feature

FEATURE = Feature(
    name="deployments",
    operations=[operations.operation],
    resolvers=[service.visible_deployment],
    id_prefixes={"deployment_id": "dep"},
    workflows=[workflows.DEPLOY, workflows.PROMOTE, workflows.ROLLBACK],
)
