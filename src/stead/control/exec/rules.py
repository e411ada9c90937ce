"""What a caller may run, and what can go wrong. No I/O."""

from collections.abc import Sequence

from stead.control.exec.wp_cli_rules import is_restricted
from stead.control.http.principal import Principal
from stead.protocol.work.access import Shell
from stead.shared.errors import Conflict, RoleInsufficient, ScopeInsufficient
from stead.shared.roles import MASK, Role

RAW = "exec:raw"


class CommandFailed(Conflict):
    code = "exec.failed"
    message = "The command failed: {reason}"
    remedy = "Read the output of the job. The message names the exit code of the command."


def may_run_anything(caller: Principal, role: Role) -> bool:
    return RAW in caller.allowed and RAW in MASK[role]


def require_allowed(caller: Principal, role: Role, shell: Shell, args: Sequence[str]) -> None:
    """A caller without the scope `exec:raw` operates a site with WP-CLI, and runs no code of its own."""
    if may_run_anything(caller, role) or (shell == "cms-cli" and not is_restricted(args)):
        return
    if RAW in caller.allowed:
        raise RoleInsufficient(role=role)
    raise ScopeInsufficient(scope=RAW)
