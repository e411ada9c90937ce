"""PHP images run WordPress from the `wordpress` image, in a container as sites have. Tested are `php8.2` and
the other versions that this machine has."""

import stat
from pathlib import Path

import pytest

from stead.node.containers.bundle import BindMount
from stead.node.images.debian_packages import refuse_older
from stead.node.images.image_store import Image, ImageStore, digest_tree
from stead.node.images.recipe import ImageUnavailable
from stead.node.images.recipes import (
    PHP,
    PHP_FPM,
    PHP_VERSIONS,
    PLATFORM_FILES,
    WORDPRESS_CONTENT,
    WORDPRESS_CORE,
    WP_CLI,
    recipe,
)
from tests.made_images import has_image
from tests.node.images.conftest import RunIn

# The required and recommended extensions of WordPress, as its handbook for hosts lists them.
EXTENSIONS = {
    *("curl", "dom", "exif", "fileinfo", "gd", "hash", "iconv", "imagick", "intl", "json", "mbstring"),
    *("mysqli", "openssl", "pcre", "SimpleXML", "sodium", "xml", "xmlreader", "Zend OPcache", "zip", "zlib"),
    *("bcmath", "filter", "Phar", "tokenizer"),
}
MADE_IF_MISSING = "8.2"
MISSING = {"8.3": {"gd", "imagick"}, "8.5": {"imagick"}}
"""What the notes of these images say is missing."""


def versions_to_check() -> list[str]:
    """`8.2`, whose image is made if it is missing, and the versions whose images this machine already has."""
    return [version for version in PHP_VERSIONS if version == MADE_IF_MISSING or has_image(f"php{version}")]


@pytest.fixture(params=versions_to_check())
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def php(version: str) -> Image:
    return ImageStore().ensure(f"php{version}")


def test_an_image_has_the_extensions_that_wordpress_recommends(
    php: Image, version: str, run_in: RunIn
) -> None:
    answer = run_in(php, PHP, "-r", "echo PHP_VERSION, ' ', implode(',', get_loaded_extensions());")
    number, _, extensions = answer.text.partition(" ")
    assert number.startswith(f"{version}.")
    missing = EXTENSIONS - set(extensions.split(","))
    assert missing == MISSING.get(version, set())
    assert all(extension in php.metadata.note for extension in missing)
    answer = run_in(php, PHP_FPM, "-i")
    assert answer.text.startswith("phpinfo()\n"), answer.text[:500]
    print(f"\nPHP {number}: {php.metadata.bytes / 1e6:.0f} MB, made in {php.metadata.seconds:.0f} s")  # noqa: T201


def test_wp_cli_finds_wordpress_and_the_settings_of_the_platform(
    php: Image, run_in: RunIn, tmp_path: Path
) -> None:
    content, settings = tmp_path / "content", tmp_path / "settings"
    content.mkdir()
    (content / "mine.txt").write_text("mine")
    settings.mkdir()
    (settings / "wp-config.php").write_text(
        "<?php\ndefine('DB_NAME', 'x');\n$table_prefix = 'wp_';\n"
        "defined('ABSPATH') || define('ABSPATH', '/srv/wordpress-core/');\n"
    )
    mounts = (
        BindMount(content, f"{WORDPRESS_CORE}/wp-content", writable=True),
        BindMount(settings, PLATFORM_FILES),
    )

    def wp(*words: str) -> str:
        return run_in(php, PHP, WP_CLI, f"--path={WORDPRESS_CORE}", *words, mounts=mounts).text

    assert wp("core", "version") == "7.1.1"
    assert wp("cli", "version") == "WP-CLI 2.12.0"
    assert "Error establishing a database connection" in wp("option", "get", "home")
    listed = run_in(php, "ls", f"{WORDPRESS_CORE}/wp-content", mounts=mounts)
    assert listed.text == "mine.txt"


def test_the_database_client_of_an_image_can_dump(php: Image, run_in: RunIn) -> None:
    for program in ("mariadb", "mariadb-dump", "mariadb-check"):
        answer = run_in(php, program, "--version")
        assert (answer.code, "MariaDB" in answer.text) == (0, True), answer.text


def test_nothing_of_an_image_can_be_changed_from_the_container(php: Image, run_in: RunIn) -> None:
    code = (
        "foreach (['/usr/x', '/etc/x', '/srv/x', '/srv/wordpress-core/x', '/srv/site/x', '/etc/stead/x',"
        " '/var/lib/php/sessions/x', '/usr/local/lib/wp-cli.phar', '/srv/wordpress-core/index.php'] as $path)"
        " if (@file_put_contents($path, 'x') !== false) echo $path, ' ';"
    )
    answer = run_in(php, PHP, "-r", code)
    assert (answer.code, answer.text) == (0, "")


def test_no_program_of_an_image_runs_with_more_rights_than_its_caller(php: Image) -> None:
    for path in php.root.rglob("*"):
        mode = path.lstat().st_mode
        assert not (stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID)), path


def test_the_packages_of_an_image_are_not_older_than_reviewed(php: Image, version: str) -> None:
    name = f"php{version}"
    refuse_older(name, php.metadata.packages)
    assert set(recipe(name).debian) <= php.metadata.packages.keys()
    with pytest.raises(ImageUnavailable, match="the Debian sources are out of date"):
        refuse_older(name, php.metadata.packages | {"ca-certificates": "20200101"})


def test_the_wordpress_image_is_complete_and_empty_of_sites(wordpress: Image) -> None:
    core = wordpress.root / WORDPRESS_CORE[1:]
    assert f"sha256:{digest_tree(wordpress.root)[0]}" == wordpress.metadata.digest
    assert {path.name for path in core.iterdir()} > {"index.php", "wp-admin", "wp-includes", "wp-config.php"}
    assert list((core / "wp-content").iterdir()) == []
    content = wordpress.root / WORDPRESS_CONTENT[1:]
    assert (content / "themes/twentytwentyfive/style.css").is_file()
    assert all(path.stat().st_mode & 0o004 for path in wordpress.root.rglob("*"))
