"""What the files of Composer say about a switch of the version of PHP. No I/O."""

from dataclasses import dataclass

from stead.control.php.constraints import allows
from stead.protocol.work.builds import PhpRequirement
from stead.shared.errors import InvalidRequest

PROJECT = "composer.json"
"""Who requires something that is no package."""


@dataclass(frozen=True, slots=True)
class SwitchedEnvironment:
    """An environment, with what the release requires that it serves."""

    id: str
    type: str
    branch: str | None
    subdomain: str
    requirements: tuple[PhpRequirement, ...]

    def find_forbidding(self, now: str | None, wanted: str) -> PhpRequirement | None:
        """A requirement that the current version meets and the wanted one does not. One that the current
        version does not meet either is no reason to stay."""
        for each in self.requirements:
            if allows(each.constraint, wanted) is False and (
                now is None or allows(each.constraint, now) is not False
            ):
                return each
        return None


class PhpForbidden(InvalidRequest):
    code = "invalid_request"
    message = "The code of {host} does not allow PHP {version}: {package} requires {constraint}."
    remedy = (
        "Change the requirement in `composer.json`, run `composer update`, and deploy the result to every"
        " environment. To switch in spite of it, send `force`; each environment must still answer."
    )
