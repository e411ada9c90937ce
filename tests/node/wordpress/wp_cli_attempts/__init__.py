"""What somebody tries with a key that may run WP-CLI and must not run code."""

from tests.node.wordpress.wp_cli_attempts.arguments import ARGUMENTS
from tests.node.wordpress.wp_cli_attempts.attempt import NumberedAttempt
from tests.node.wordpress.wp_cli_attempts.bent_commands import BENT_COMMANDS
from tests.node.wordpress.wp_cli_attempts.commands import COMMANDS
from tests.node.wordpress.wp_cli_attempts.planted import PLANTED
from tests.node.wordpress.wp_cli_attempts.takeover import TAKEOVER

ATTEMPTS = tuple(
    NumberedAttempt(number, each)
    for number, each in enumerate((*ARGUMENTS, *PLANTED, *BENT_COMMANDS, *COMMANDS, *TAKEOVER), 1)
)
