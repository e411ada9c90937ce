"""Commands to the node that hosts an environment."""

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import Environment
from stead.control.http.principal import Mode
from stead.control.jobs.definition import NodeCommand, Refused
from stead.control.jobs.rules import NoNode
from stead.control.sites import service as sites
from stead.protocol.work import EnsureRoute, RemoveRoute, Work


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


async def simulate_route(tx: Tx, env: Environment, *hosts: str) -> NodeCommand | None:
    """Only for test sites: no edge knows them, so the simulator keeps their routes."""
    is_test = (await sites.get_facts(tx, env.site_id)).is_test
    return await build_command_if_placed(tx, env, EnsureRoute(hosts)) if is_test else None


async def simulate_route_removal(tx: Tx, env: Environment) -> NodeCommand | None:
    is_test = (await sites.get_facts(tx, env.site_id)).is_test
    return await build_command_if_placed(tx, env, RemoveRoute()) if is_test else None
