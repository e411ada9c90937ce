"""Makes many changes to the content of a site, each by a question to it."""

from stead.node.drivers.driver import Assignment, Refusal
from stead.node.wordpress.site_questions import SiteQuestions
from stead.protocol.questions import FAILED, NOT_FOUND, REFUSED, Question
from stead.protocol.work import ChangeContent

SECONDS = 60.0
_ITS_OWN_FAULT = {NOT_FOUND, REFUSED, FAILED}
"""The next change may succeed."""


async def change_content(questions: SiteQuestions, url: str, task: Assignment, work: ChangeContent) -> None:
    """Reports each change. Raises Refusal if none was made, or if the site cannot be asked."""
    failed = ""
    done = 0
    for number, change in enumerate(work.changes, 1):
        question = Question(
            *("node", "node", task.job, task.environment, "live", change.kind, SECONDS, change.body)
        )
        try:
            await questions.ask(question, url)
        except Refusal as refusal:
            if refusal.code not in _ITS_OWN_FAULT:
                raise
            failed = refusal.reason
            await task.output.say(f"content: {change.kind} {number} failed: {failed}")
        else:
            done += 1
            await task.output.say(f"content: {change.kind} {number} is done")
    if not done:
        raise Refusal("content.failed", f"no change was made: {failed}")
    await task.output.say(f"content: {done} of {len(work.changes)} changes were made")
