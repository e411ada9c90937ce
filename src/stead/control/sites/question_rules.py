"""What can go wrong when a site is asked. No I/O."""

from stead.control.environments.rules import EnvironmentBusy
from stead.control.jobs.rules import NoNode
from stead.shared.errors import ApiError, InvalidRequest, RateLimited, ServerFault


class NodeSilent(NoNode):
    message = "The node of the site cannot be reached."
    remedy = "Try again after the seconds in `Retry-After`. Visitors may still be served."

    def __init__(self, *, was_asked: bool = False) -> None:
        super().__init__()
        self.headers = {"retry-after": "10"}
        self.outcome_unknown = was_asked


class SiteTimedOut(ServerFault):
    status = 504
    code = "site.timeout"
    outcome_unknown = True
    message = "The site has not answered in {seconds} seconds. A requested change may have been made."
    remedy = "Read what you wanted to change before you repeat it. Look for slow plugins in the site's log."


class SiteFailed(ServerFault):
    status = 502
    code = "site.failed"
    outcome_unknown = True
    message = "The site could not answer: {reason}"
    remedy = "Correct the plugin or theme that fails. The log of the site has the details."


class SiteAnswerInvalid(ServerFault):
    status = 502
    code = "site.answer_invalid"
    outcome_unknown = True
    message = "The site has answered something that cannot be right: {reason}"
    remedy = "Look for a plugin that changes the values of WordPress, and deactivate it."


class SiteQuestionsExceeded(RateLimited):
    code = "site.questions_exceeded"
    message = "Too many requests to this site are in progress."
    remedy = "Send fewer at the same time, and try again after the seconds in `Retry-After`."

    def __init__(self) -> None:
        super().__init__()
        self.headers = {"retry-after": "1"}


class SiteRefused(InvalidRequest):
    code = "site.refused"
    message = "WordPress refuses this: {reason}"
    remedy = "Change the request as the message says."


QUESTION_ERRORS: tuple[type[ApiError], ...] = (
    NodeSilent,
    SiteTimedOut,
    SiteFailed,
    SiteAnswerInvalid,
    SiteQuestionsExceeded,
    EnvironmentBusy,
)
"""The errors of every operation that asks a site."""
