"""Makes many changes to the content of a site, each by a question to it."""

import asyncio

from stead.node.drivers.driver import Assignment, Refusal
from stead.node.wordpress.site_questions import SiteQuestions
from stead.protocol.questions import FAILED, NOT_FOUND, REFUSED, Question
from stead.protocol.work.cms import ChangeContent

CONTENT_FAILED = "content.failed"
SECONDS = 60.0
"""For each change. A site that does not answer is not asked again: the next change would wait as long."""
_ITS_OWN_FAULT = {NOT_FOUND, REFUSED, FAILED}
"""The next change may succeed."""


async def change_content(
    questions: SiteQuestions, url: str, task: Assignment, work: ChangeContent, seconds: float = SECONDS
) -> None:
    """Reports each change. Raises Refusal if none was made, or if the site cannot be asked or hangs."""
    failed = ""
    done = 0
    for number, change in enumerate(work.changes, 1):
        question = Question(
            *("node", "node", task.job, task.environment, "live", change.kind, seconds, change.body)
        )
        try:
            async with asyncio.timeout(seconds):
                await questions.ask(question, url)
        except TimeoutError:
            reason = f"change {number} was not answered in {seconds:.0f} s; {done} were made before it"
            raise Refusal(CONTENT_FAILED, reason) from None
        except Refusal as refusal:
            if refusal.code not in _ITS_OWN_FAULT:
                raise
            failed = refusal.reason
            await task.output.say(f"content: {change.kind} {number} failed: {failed}")
        else:
            done += 1
            await task.output.say(f"content: {change.kind} {number} is done")
    if not done:
        raise Refusal(CONTENT_FAILED, f"no change was made: {failed}")
    await task.output.say(f"content: {done} of {len(work.changes)} changes were made")
