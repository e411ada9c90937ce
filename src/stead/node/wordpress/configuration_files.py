"""wp-config.php and the configuration of PHP-FPM, from the templates in `php`."""

import re
from pathlib import Path

from stead.node.wordpress.release_layout import ReleaseLayout
from stead.node.wordpress.spec import WordPressSecrets, WordPressSpec

TEMPLATES = Path(__file__).parent / "php"
LISTEN = "/run/fpm.sock"
"""The name of the inherited socket. There is no file with this name."""
SALT_NAMES = (
    *("AUTH_KEY", "SECURE_AUTH_KEY", "LOGGED_IN_KEY", "NONCE_KEY"),
    *("AUTH_SALT", "SECURE_AUTH_SALT", "LOGGED_IN_SALT", "NONCE_SALT"),
)
_WORKER_SHARE = 2
"""A single request may use this part of the memory of the container."""


def wp_config(
    spec: WordPressSpec, secrets: WordPressSecrets, database: str, socket: str, code: str = ""
) -> str:
    """`code` contains the settings of a git-managed site."""
    salts = zip(SALT_NAMES, secrets.salts, strict=True)
    return _fill(
        "wp-config.php",
        database=php_string(database),
        database_host=php_string(f"localhost:{socket}"),
        database_user=php_string(database),
        database_password=php_string(secrets.database_password),
        salts="\n".join(f"define('{name}', {php_string(value)});" for name, value in salts),
        url=php_string(spec.settings.url),
        environment_type=php_string(spec.settings.environment_type),
        code=code,
    )


def release_settings(layout: ReleaseLayout | None, directory: str) -> str:
    """The part of wp-config.php that is about the code of a git-managed site. `directory` is its release."""
    settings = ["define('DISALLOW_FILE_MODS', true);", "define('WP_TEMP_DIR', '/tmp');"]
    if layout is None:
        return "\n".join(settings)
    if layout.autoloader:
        # Composer's autoloader names files by their place in the release. WordPress must use the same names,
        # or PHP would load files twice.
        settings += [
            f"define('WP_CONTENT_DIR', {php_string(f'{directory}/{layout.content}')});",
            "define('WP_CONTENT_URL', $stead_url . '/wp-content');",
            f"require_once {php_string(f'{directory}/{layout.autoloader}')};",
        ]
    theme = {"stylesheet": php_string(layout.stylesheet), "template": php_string(layout.template)}
    return "\n".join([*settings, _fill("theme.php", **theme)])


def fpm_configuration(spec: WordPressSpec) -> str:
    return _fill(
        "fpm.conf",
        listen=LISTEN,
        workers=str(spec.settings.workers),
        memory_limit_mb=str(request_memory_mb(spec)),
    )


def request_memory_mb(spec: WordPressSpec) -> int:
    return spec.settings.memory_mb // _WORKER_SHARE


def php_string(text: str) -> str:
    """A string literal of PHP."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _fill(name: str, **values: str) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], (TEMPLATES / name).read_text())
