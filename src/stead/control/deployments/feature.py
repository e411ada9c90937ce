"""Deployments: deploy, promote, roll back."""

from stead.control.deployments import events, operations, service, workflows
from stead.control.feature import Feature

FEATURE = Feature(
    name="deployments",
    operations=[operations.operation],
    resolvers=[service.visible_deployment],
    id_prefixes={"deployment_id": "dep"},
    workflows=[workflows.DEPLOY, workflows.PROMOTE, workflows.ROLLBACK],
    events=[
        events.DEPLOY_COMPLETED,
        events.DEPLOY_FAILED,
        events.DEPLOY_STARTED,
        events.DEPLOY_PROMOTED,
        events.DEPLOY_ROLLED_BACK,
    ],
)
