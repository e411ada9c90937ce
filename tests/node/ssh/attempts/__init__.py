"""What an attacker tries over SSH. Every attempt returns whether it succeeded."""

from tests.node.ssh.attempts import (
    exhaustion,
    files,
    forwarding,
    memory,
    programs,
    sessions,
    sign_in,
    strangers,
)
from tests.node.ssh.attempts.registry import REGISTERED

# Attempts that use up places disturb others of the same kind if they all begin at once.
_ORDER = (sign_in, forwarding, sessions, files, programs, exhaustion, strangers, memory)
ATTEMPTS = {
    name: function
    for module in _ORDER
    for name, function in REGISTERED.items()
    if function.__module__ == module.__name__
}
