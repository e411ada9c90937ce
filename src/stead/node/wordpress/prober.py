"""Probes a site before visitors see a change: its front page is made once, in a container of its own."""

from stead.artifacts.refusals import printable
from stead.node.containers.runc import Runc
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.wordpress.plan import RELEASE, WEB_ROOT, WordPressPlan
from stead.node.wordpress.script_container import MAX_SECONDS, run_script

UNHEALTHY = "deploy.unhealthy"
_MAX_LINE = 500


async def probe_release(plan: WordPressPlan, runc: Runc, host: str, task: Assignment) -> None:
    """Refuse a release whose front page is answered with an error. `plan` must be one of its own."""
    if failure := await find_failure(plan, runc, host, task):
        raise Refusal(UNHEALTHY, f"the new release fails: {failure}")


async def find_failure(plan: WordPressPlan, runc: Runc, host: str, task: Assignment) -> str:
    """Why the front page cannot be made; empty if it can. `plan` must be one of its own."""
    try:
        end = await run_script(plan, runc, "probe.php", host)
    except TimeoutError:
        return f"the front page was not answered in {MAX_SECONDS:.0f} s"
    line = _find_reason(end.lines) or f"PHP ended with {end.code}"
    if end.killed_for_memory:
        line = f"PHP ran out of memory; the limit is {plan.desired.spec.settings.memory_mb} MB"
    await task.output.say(f"probe: {line}")
    return line if end.code else ""


def _find_reason(lines: tuple[str, ...]) -> str:
    """What the customer has to know, with the paths of the repository."""
    line = next(
        (each for each in lines if each.startswith(("PHP: ", "the front page"))), lines[-1] if lines else ""
    )
    return printable(line.replace(f"{RELEASE}/", "").replace(f"{WEB_ROOT}/", ""))[:_MAX_LINE]
