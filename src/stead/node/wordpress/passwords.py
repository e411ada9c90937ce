"""Gives a user of WordPress another password, by a request to the PHP of the environment."""

import asyncio
import re

from stead.node.containers.limits import ContainerFailed
from stead.node.drivers.driver import Refusal
from stead.node.hosting.environment import HostedEnvironment, NodeBusy
from stead.node.wordpress import fastcgi_client
from stead.node.wordpress.fastcgi_client import platform_parameters
from stead.node.wordpress.paths import EnvironmentPaths
from stead.protocol.work.access import SetPassword

FAILED = "access.password_not_reset"
SCRIPT = "/run/stead/platform/set_password.php"
SECONDS = 60.0

_DONE = re.compile(rb'\{"done":true\}\s*$')
_MISSING = re.compile(rb'\{"missing":true\}\s*$')


async def set_password(
    hosted: HostedEnvironment, paths: EnvironmentPaths, url: str, work: SetPassword
) -> None:
    """Wakes a sleeping environment. Doing it twice does no harm. Raises Refusal, or NodeBusy."""
    parameters = platform_parameters(SCRIPT, "/wp-login.php", url)
    parameters |= {"STEAD_USER": work.user, "STEAD_PASSWORD_HASH": work.password_hash}
    try:
        async with asyncio.timeout(SECONDS), hosted.use():
            response = await fastcgi_client.request(paths.socket, parameters)
    except TimeoutError:
        raise Refusal(FAILED, "WordPress took too long") from None
    except NodeBusy:
        raise
    except (ContainerFailed, fastcgi_client.RequestFailed, OSError) as error:
        raise Refusal(FAILED, str(error) or type(error).__name__) from None
    if _MISSING.search(response):
        raise Refusal(FAILED, f"WordPress has no user {work.user}")
    if not _DONE.search(response):
        raise Refusal(FAILED, "WordPress cannot be loaded; the log of PHP says why")
