"""Projects of WordPress that tests build."""

import json

THEME = "/*\nTheme Name: Own\n*/"
CHILD = "/*\nTheme Name: Child\nTemplate: own\n*/"


def theme(content: str = "wp-content", page: str = "<?php echo 'words';") -> dict[str, str]:
    return {f"{content}/themes/own/style.css": THEME, f"{content}/themes/own/index.php": page}


def core(folder: str = "") -> dict[str, str]:
    """WordPress itself, as far as it is recognized."""
    names = ("wp-includes/version.php", "wp-admin/index.php", "wp-load.php", "index.php", "xmlrpc.php")
    return {f"{folder}{name}": "<?php" for name in names}


def composer_site(scripts: dict[str, list[str]] | None = None, **lock: object) -> dict[str, str]:
    """A site whose theme uses a package that Composer installs from a directory of the project."""
    package = {
        "name": "acme/greeting",
        "version": "1.0.0",
        "type": "library",
        "autoload": {"files": ["greeting.php"]},
    }
    locked = package | {
        "dist": {"type": "path", "url": "packages/greeting", "reference": "1"},
        "transport-options": {"symlink": False, "relative": True},
    }
    project = {
        "name": "acme/site",
        "description": "A site",
        "repositories": [{"type": "path", "url": "packages/*"}, {"packagist.org": False}],
        "require": {"php": ">=8.0", "acme/greeting": "^1.0"},
        "autoload": {"psr-4": {"Acme\\": "src/"}},
        "extra": {"installer-paths": {"web/app/plugins/{$name}/": ["type:wordpress-plugin"]}},
        "scripts": scripts or {},
    }
    return {
        "composer.json": json.dumps(project),
        "composer.lock": json.dumps({"packages": [locked], "packages-dev": [], "platform": {}, **lock}),
        "packages/greeting/composer.json": json.dumps(package),
        "packages/greeting/greeting.php": "<?php function greeting() { return 'from a package'; }",
        "src/Words.php": "<?php namespace Acme; class Words { const FIRST = 'from a class'; }",
        ".env": "SECRET=1",
        **core("web/wp/"),
        **theme("web/app", "<?php echo greeting(), ' ', Acme\\Words::FIRST;"),
    }
