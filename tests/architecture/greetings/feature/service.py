"""Use cases of greetings, inside the caller's transaction."""

from stead.control.greetings import jobs as kinds
from stead.control.greetings.schema import NewGreeting

from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.jobs import service as jobs
from stead.control.jobs.schema import JobView


async def send(tx: Tx, env: VisibleEnvironment, wanted: NewGreeting) -> JobView:
    work = kinds.GreetingWork(wanted.text)
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    return await jobs.enqueue(tx, kinds.SEND, work, subject, scope="environments:write")
