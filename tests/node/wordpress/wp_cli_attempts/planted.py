"""Files of the site and variables of the environment from which WP-CLI takes code or settings.

Somebody who can write such files waits for a command of the platform. Commands read none of them; each proof
shows how WP-CLI would.
"""

from tests.node.wordpress.wp_cli_attempts.attempt import Attempt, attempt, makes, runs

_REQUIRE = "require:\n  - {php}\n"
_EXEC = "exec: '{code}'\n"
_COMMAND = "if (class_exists('WP_CLI')) { WP_CLI::add_command('{name}', function () { {code} }); }"
_INI = 'auto_prepend_file="{php}"\n'
_WP_CONFIG = "<?php\n{code}\n$table_prefix = 'wp_';\nrequire_once ABSPATH . 'wp-settings.php';\n"


def _file(path: str, content: str, proof: str) -> Attempt:
    """An ordinary command, while the file exists."""
    effect = runs() if proof else None
    return attempt("option get blogname", effect=effect, files={path: content}, proof=proof)


def _variable(setting: str, proof: str, **files: str) -> Attempt:
    """A variable in front of the command, as a shell would understand it."""
    named = {f"{{own}}{end}": content for end, content in files.items()}
    effect = runs() if proof else None
    return attempt(f"{setting} cli version", effect=effect, files=named, proof=proof)


PLANTED = (
    # Settings of a project are searched from the current directory upwards.
    _file("{own}/wp-cli.yml", _REQUIRE, "cd {own} && {wp} cli version"),
    _file("{own}/wp-cli.yml", _EXEC, "cd {own} && {wp} cli version"),
    _file("{own}/wp-cli.local.yml", _REQUIRE, "cd {own} && {wp} cli version"),
    _file("{own}/wp-cli.local.yml", _EXEC, "cd {own} && {wp} cli version"),
    _file("plugins/{name}/wp-cli.yml", _EXEC, "cd /srv/site/wp-content/plugins/{name} && {wp} cli version"),
    _file("themes/{name}/wp-cli.yml", _EXEC, "cd /srv/site/wp-content/themes/{name} && {wp} cli version"),
    _file(
        "mu-plugins/{name}/wp-cli.yml", _EXEC, "cd /srv/site/wp-content/mu-plugins/{name} && {wp} cli version"
    ),
    attempt(
        "option get blogname",
        effect=runs(),
        files={"{own}/wp-cli.yml": "_:\n  inherit: {own}/other.yml\n", "{own}/other.yml": _EXEC},
        proof="cd {own} && {wp} cli version",
    ),
    attempt(
        "option get blogname",
        effect=makes("{own}.sql"),
        files={"{own}/wp-cli.yml": "db export:\n  0: {own}.sql\n"},
        proof="cd {own} && {wp} db export",
    ),
    attempt(
        "option get blogname",
        effect=runs(),
        files={"{own}/wp-cli.yml": "path: {own}\n", "{own}/wp-includes/version.php": "<?php {code}"},
        proof="cd {own} && {wp} option get blogname",
    ),
    attempt("eval {code}", effect=runs(), files={"{own}/wp-cli.yml": "disabled_commands: []\n"}),
    # Settings and packages of the user
    _file("{own}/.wp-cli/config.yml", _EXEC, "HOME={own} WP_CLI_CONFIG_PATH= {wp} cli version"),
    _file("{own}/.wp-cli/config.yml", _REQUIRE, "HOME={own} WP_CLI_CONFIG_PATH= {wp} cli version"),
    _file(
        "{own}/.wp-cli/packages/vendor/autoload.php",
        "<?php {code}",
        "HOME={own} WP_CLI_PACKAGES_DIR= WP_CLI_CONFIG_PATH= {wp} --path=/srv/site option get blogname",
    ),
    _file(
        "{own}/packages/vendor/autoload.php",
        "<?php {code}",
        "WP_CLI_PACKAGES_DIR={own}/packages WP_CLI_CONFIG_PATH= {wp} --path=/srv/site option get blogname",
    ),
    # Settings of PHP and of shells
    _file("{own}/php.ini", _INI, "PHPRC={own} {wp} cli version"),
    _file("{own}/x.ini", _INI, "PHP_INI_SCAN_DIR={own} {wp} cli version"),
    _file("{own}/.bashrc", "touch {ran}\n", "BASH_ENV={own}/.bashrc bash -c true"),
    _file("{own}/.user.ini", _INI, ""),
    _file("{own}/.htaccess", "php_value auto_prepend_file {php}\n", ""),
    _file("{own}/.env", "WP_CLI_REQUIRE={php}\n", "export $(cat {own}/.env) && {wp} cli version"),
    attempt(
        "option get blogname",
        effect=runs(),
        files={"{own}/wp-load.php": "<?php", "{own}/wp-includes/version.php": "<?php {code}"},
        proof="cd {own} && WP_CLI_CONFIG_PATH= {wp} option get blogname",
    ),
    # Variables
    _variable("WP_CLI_REQUIRE={php}", "WP_CLI_REQUIRE={php} {wp} cli version"),
    _variable("WP_CLI_EARLY_REQUIRE={php}", "WP_CLI_EARLY_REQUIRE={php} {wp} cli version"),
    _variable(
        "WP_CLI_CONFIG_PATH={own}.yml", "WP_CLI_CONFIG_PATH={own}.yml {wp} cli version", **{".yml": _EXEC}
    ),
    _variable(
        "WP_CONFIG_PATH={own}.conf",
        "WP_CONFIG_PATH={own}.conf {wp} option get blogname",
        **{".conf": _WP_CONFIG},
    ),
    _variable(
        "WP_CLI_PACKAGES_DIR={own}",
        "WP_CLI_PACKAGES_DIR={own} WP_CLI_CONFIG_PATH= {wp} --path=/srv/site option get blogname",
        **{"/vendor/autoload.php": "<?php {code}"},
    ),
    _variable("PHPRC={own}", "PHPRC={own} {wp} cli version", **{"/php.ini": _INI}),
    _variable("PHP_INI_SCAN_DIR={own}", "PHP_INI_SCAN_DIR={own} {wp} cli version", **{"/x.ini": _INI}),
    _variable(
        "WP_CLI_RUNTIME_ALIAS={}",
        """WP_CLI_RUNTIME_ALIAS='{"@x":{"path":"/srv/site"}}' {wp} @x eval '{code}'""",
    ),
    _variable("PAGER=touch+{ran}", "PAGER='touch {ran};cat' {wp} help cli version"),
    _variable("EDITOR=touch+{ran}", "EDITOR='touch {ran};true' {wp} post edit 1"),
    _variable("WP_CLI_PHP={own}", ""),
    _variable("WP_CLI_PHP_ARGS=-dauto_prepend_file={php}", ""),
    _variable("WP_CLI_AUTOCORRECT=1", ""),
    _variable("WP_CLI_STRICT_ARGS_MODE=1", ""),
    _variable("WP_CLI_SSH_BINARY=touch", ""),
    _variable("WP_CLI_SSH_PRE_CMD=touch", ""),
    _variable("LESSOPEN=|touch", ""),
    _variable("LD_PRELOAD={own}.so", ""),
    _variable(
        "HOME={own}", "HOME={own} WP_CLI_CONFIG_PATH= {wp} cli version", **{"/.wp-cli/config.yml": _EXEC}
    ),
    _variable("--env=WP_CLI_REQUIRE={php}", ""),
    _variable("env WP_CLI_REQUIRE={php} wp", "env WP_CLI_REQUIRE={php} {wp} cli version"),
    # The code of the site adds commands.
    attempt("{name}", effect=runs(), files={"mu-plugins/{name}.php": f"<?php {_COMMAND}"}),
    attempt("{name} --skip-plugins", effect=runs(), files={"mu-plugins/{name}.php": f"<?php {_COMMAND}"}),
    attempt(
        "cli {name}",
        files={"mu-plugins/{name}.php": "<?php " + _COMMAND.replace("'{name}'", "'cli {name}'")},
    ),
    attempt(
        "cache {name}",
        effect=runs(),
        files={"mu-plugins/{name}.php": "<?php " + _COMMAND.replace("'{name}'", "'cache {name}'")},
    ),
    attempt("{name}", effect=runs(), files={"object-cache.php": f"<?php {_COMMAND}"}),
    attempt("{name}", effect=runs(), files={"db.php": f"<?php {_COMMAND}"}),
    attempt("{name}", effect=runs(), files={"themes/twentytwentyfive/functions.php": f"<?php {_COMMAND}"}),
    attempt(
        "{name}",
        files={"sunrise.php": f"<?php {_COMMAND}", "advanced-cache.php": f"<?php {_COMMAND}"},
    ),
)
