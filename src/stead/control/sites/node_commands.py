"""Commands to the node that hosts an environment."""

from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import Environment
from stead.control.http.principal import Mode
from stead.control.jobs.definition import NodeCommand, NotYet, Refused
from stead.control.jobs.kinds import Job
from stead.control.jobs.rules import NoNode
from stead.control.nodes import service as nodes
from stead.control.sites import service as sites
from stead.protocol.work.hosting import EnsureRoute, RemoveRoute, SuspendEnvironment
from stead.protocol.work.kinds import Work
from stead.shared.runtimes import Runtime

WITH_PROCESSES: frozenset[Runtime] = frozenset({"cms"})
"""The runtimes whose environments have processes on their node."""


def build_command(node: str | None, environment: str, mode: Mode, work: Work) -> NodeCommand:
    """The simulator does the work of a test site."""
    if node is None:
        raise Refused(NoNode.code, "No node hosts the environment.")
    return NodeCommand(node, environment, "simulator" if mode == "test" else "live", work)


async def build_environment_command(tx: Tx, env: Environment, work: Work) -> NodeCommand:
    mode = (await sites.get_facts(tx, env.site_id)).mode
    return build_command(env.node_id, env.id, mode, work)


async def build_command_if_placed(tx: Tx, env: Environment, work: Work) -> NodeCommand | None:
    """For work that removes something: an environment without a node has nothing to remove."""
    return None if env.node_id is None else await build_environment_command(tx, env, work)


async def has_reachable_processes(tx: Tx, env: Environment, job: Job[Any]) -> bool:
    """Whether its node must be asked to end or start its processes. A lost node is not waited for: there they
    sleep when nobody visits them. The simulator is always asked.

    Raises NotYet if the node may be silent only because nobody could hear it: all workers or NATS were down.
    """
    facts = await sites.get_facts(tx, env.site_id)
    if env.node_id is None or facts.is_test:
        return env.node_id is not None
    node = await nodes.find(tx, env.node_id)
    if facts.runtime not in WITH_PROCESSES or node is None:
        return False
    if node.is_lost(tx.now) and not job.could_hear_nodes:
        raise NotYet
    return not node.is_lost(tx.now)


async def suspend(tx: Tx, env: Environment, job: Job[Any]) -> NodeCommand | None:
    if not await has_reachable_processes(tx, env, job):
        return None
    facts = await sites.get_facts(tx, env.site_id)
    return build_command(env.node_id, env.id, facts.mode, SuspendEnvironment(facts.runtime))


async def simulate_route(tx: Tx, env: Environment, *hosts: str) -> NodeCommand | None:
    """Only for test sites: no edge knows them, so the simulator keeps their routes."""
    is_test = (await sites.get_facts(tx, env.site_id)).is_test
    return await build_command_if_placed(tx, env, EnsureRoute(hosts)) if is_test else None


async def simulate_route_removal(tx: Tx, env: Environment) -> NodeCommand | None:
    is_test = (await sites.get_facts(tx, env.site_id)).is_test
    return await build_command_if_placed(tx, env, RemoveRoute()) if is_test else None
