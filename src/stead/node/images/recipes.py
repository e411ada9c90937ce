"""The recipes of all images.

| Image | Contents |
|---|---|
| `static` | what builds run in: Debian with Node.js, npm and git |
| `node20`, `node22` | other versions of Node.js, mounted into the container of a build |
| `hugo`, `jekyll`, `python` | what builds of other generators run in: Hugo, Jekyll, or Python with MkDocs |
| `functions` | what functions are built in: Debian with esbuild, QuickJS, and compilers of other languages |
| `composer` | what Composer runs in, when a WordPress site is built: Debian with PHP and git |
| `php8.2` … `php8.5` | what WordPress sites run in: PHP-FPM, its extensions, the MariaDB client |
| `wordpress` | WordPress and WP-CLI, mounted into the container of any PHP version |
"""

import platform

from stead.node.images.recipe import ImageUnavailable, NpmFiles, Package, PythonFiles, Recipe, TextFile

BUILDERS = ("static",)
"""The images that builds run in; `steadctl images build` makes these if none is named."""
PHP_VERSIONS = ("8.2", "8.3", "8.4", "8.5")
GENERATORS = ("hugo", "jekyll", "python")
NODE_VERSIONS = {"20": "20.20.2", "22": "22.23.3", "24": "24.21.0"}
"""Versions of Node.js that a project can choose. The last one is in the image `static`."""
NAMES = (
    *BUILDERS,
    *("node20", "node22"),
    *GENERATORS,
    "functions",
    "composer",
    *(f"php{version}" for version in PHP_VERSIONS),
    "wordpress",
)

BUILD_USER, BUILD_UID = "build", 1000
"""The user that builds run as, inside the image."""

WWW_UID = 33
"""`www-data` of Debian: the user that PHP runs as, inside the image."""
WORDPRESS_CORE = "/srv/wordpress-core"
"""WordPress itself. Its `wp-content` is an empty directory, over which an environment mounts its own."""
WORDPRESS_CONTENT = "/srv/wordpress-content"
"""The themes and plugins that come with WordPress: the initial `wp-content` of a new site."""
SITE = "/srv/site"
"""An empty directory of PHP images, for sites that bring their own tree."""
PLATFORM_FILES = "/etc/stead"
"""An empty directory of PHP images, for what the platform writes: the configuration of PHP and the
`wp-config.php` of the environment."""
WP_CLI = "/usr/local/lib/wp-cli.phar"
FUNCTION_PACKAGES, FUNCTION_TOOLCHAIN = "/opt/node_modules", "/opt/stead-functions"
"""Where the image of functions has its packages, and an empty directory for the toolchain of this version."""
ZIG = "/opt/zig"
PHP, PHP_FPM = "/usr/local/bin/php", "/usr/local/sbin/php-fpm"
"""The same paths in every PHP image."""

NODE = "/usr/local/bin/node"
"""The same path in `static` and in the images of other versions, which are mounted over it."""

_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
_NODE_INTEGRITY = {
    ("20", "x64"): "PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==",
    (
        "20",
        "arm64",
    ): "LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==",
    ("22", "x64"): "qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
    (
        "22",
        "arm64",
    ): "l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==",
    ("24", "x64"): "3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
    (
        "24",
        "arm64",
    ): "FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
}
_NPM = Package(
    "npm",
    "11.21.1",
    "sha512-YTzL6QBEJXyHcTu0JiUc7RKMp+mzlJtl7rGLmERaXUQeFHIMc9atdr6G9M9C8vDWbv40epoTQAzNL2/PtZVDhQ==",
)
_ESBUILD = Package(
    "esbuild",
    "0.28.2",
    "sha512-HKVLS8dvII+xoKW9kmqxbRKrnWEXfJJr/FZhhJmiqIB0e053QNYFqOBouTMO/k5sID4MvCiUCvv8b9M4h32wIA==",
)
_QUICKJS = Package(
    "componentize-qjs",
    "0.4.5",
    "sha512-/Brt+/Ps7DQ1mYuUsDISTQTFSaZfCSoRHkHnh9Dm5WHCO6arc/vzVdD8TXssfyNex2Iv3UR8NHdahsqABPDh0w==",
)
_FUNCTION_BINARIES = {
    "x86_64": (
        Package(
            "@esbuild/linux-x64",
            "0.28.2",
            "sha512-4xTZr1FUmSoQW4XIWmit3tzQrUTZM+N3P0XV8xROKYF50XfI7xeO90+1bZvNwxIufQ9hDQVRJH5YhgPVF8A/HQ==",
        ),
        Package(
            "@andreiltd/componentize-qjs-binding-linux-x64-gnu",
            "0.4.5",
            "sha512-Xec4O4sy/xHlhPPhf7GAV41D+AT7f9vxxjBpE7lUIElZNhX/kc+Ty6AQG50xbHsT5Mi4XQvSmtJJqhnB6xi8Vw==",
        ),
    ),
    "aarch64": (
        Package(
            "@esbuild/linux-arm64",
            "0.28.2",
            "sha512-pW4AC0P3it8c7do9MVM4p51FzHzdM/TZrerurgRcHJ2WTa1VQ1CIq18xncfpBJw4ojkiZZrKW2yIBWBP92j6Ug==",
        ),
        Package(
            "@andreiltd/componentize-qjs-binding-linux-arm64-gnu",
            "0.4.5",
            "sha512-L5S0C6qIx3f+DnwN42HnDuMhV8NgfqaY+J1PaJAw468Ip/JN+h67tVAp4wUvs8xgTqj6UnGSBbSZVGYifK2XtA==",
        ),
    ),
}
# What is for this machine and not for functions, which together have a quarter of the size.
_UNUSED_BY_COMPILERS = (
    "/usr/lib/rustlib/*-linux-gnu/lib/*.rlib",
    *("/usr/lib/rustlib/wasm32-wasip2/*", "/usr/lib/rustlib/wasm32-unknown-unknown/*"),
    *("/usr/libexec/gcc/*", "/usr/share/go-*/test/*", "/usr/share/go-*/src/cmd/*"),
)
_ZIG_VERSION = "0.17.0"
_ZIG_LIBRARY = ("std", "compiler", "compiler_rt", "compiler_rt.zig", "c", "c.zig", "ubsan_rt.zig", "zig.h")
_ZIG_DIGESTS = {
    "x86_64": "97079827064a7492cce5541ceb438ae8003ce1e54e399676da2d62fb7a5dc08b",
    "aarch64": "d2804f94f54f7fcf8169f4b212a619ad688a4e2e6592e976f0cf2e58e2cd8af3",
}
_WORDPRESS = Package(
    "wp-studio",  # contains WordPress 7.1.1 and WP-CLI 2.12.0
    "1.22.0",
    "sha512-boMtahkhgWDKKyNTBA1uTK5ghnAmxXhDY6KeQCO9FmcI3/o+YOSq8JwYW5ZYnxHCxH14Jf/mD6CJTBvTWl2Ytw==",
)
_PHP83 = Package(
    "@libphp/amazon-linux-2-v83",
    "0.0.14",
    "sha512-afJiV0LATlekq/Lzc11qjVrE3tB26kLwD3DkZ2jnmSSgpQsCaDzIwAMeNxkP7zd75PBsg8NyHYb5/tSawG159w==",
)

_BOOKWORM = ("bookworm", "bookworm-updates", "bookworm-security")
_TRIXIE = ("trixie", "trixie-updates", "trixie-security")
_EXTENSIONS = ("bcmath", "cli", "curl", "fpm", "gd", "intl", "mbstring", "mysql", "xml", "zip")
_BESIDE_PHP = (
    "ca-certificates",
    "mariadb-client",
    # For SSH sessions. Of the client only `scp` is kept, which old clients expect on the server.
    "openssh-client",
    "openssh-sftp-server",
    "rsync",
    "socat",
    # php-fpm needs systemd-tmpfiles, and without this package apt chooses all of systemd.
    "systemd-standalone-tmpfiles",
    "tini",
)
# WP-CLI needs mariadb, mariadb-dump and mariadb-check. The other clients are statically linked and large.
_CLIENTS = (
    *("path-exclude=/usr/bin/mariadb-*", "path-exclude=/usr/bin/mysql?*"),
    *("path-include=/usr/bin/mariadb-dump", "path-include=/usr/bin/mysqldump"),
    *("path-include=/usr/bin/mariadb-check", "path-include=/usr/bin/mysqlcheck"),
    *(f"path-exclude=/usr/bin/{name}" for name in ("innotop", "my_print_defaults", "perror", "replace")),
    "path-exclude=/usr/bin/resolve_stack_dump",
    *("path-exclude=/usr/bin/ssh*", "path-exclude=/usr/bin/sftp", "path-exclude=/usr/lib/openssh/ssh-*"),
    # Its package expects it when it is installed.
    "path-include=/usr/bin/ssh-agent",
)


def recipe(name: str) -> Recipe:
    if name not in NAMES:
        raise ImageUnavailable(f"there is no image called {name}; there are: {', '.join(NAMES)}")
    if name == "static":
        return _static()
    if name.startswith("node"):
        return Recipe(name=name, edition=1, npm=(_node(name.removeprefix("node")),))
    if name in GENERATORS:
        return _generator(name)
    if name == "functions":
        return _functions()
    if name == "composer":
        return _composer()
    if name == "wordpress":
        return _wordpress()
    return _php83() if name == "php8.3" else _php(name.removeprefix("php"))


def _static() -> Recipe:
    return Recipe(
        name="static",
        edition=4,
        # Node.js is not from Debian: its version is too old, and its npm depends on hundreds of packages.
        debian=(
            *("ca-certificates", "curl", "git", "libatomic1", "libstdc++6", "openssh-client"),
            *("socat", "tini"),
        ),
        npm=(
            _node("24"),
            NpmFiles(_NPM, (("", "/usr/local/lib/node_modules/npm"),)),
        ),
        users=((BUILD_USER, BUILD_UID),),
        directories=("/work", "/cache"),
        links=tuple(
            (f"/usr/local/bin/{name}", f"../lib/node_modules/npm/bin/{name}-cli.js")
            for name in ("npm", "npx")
        ),
    )


def _node(major: str) -> NpmFiles:
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise ImageUnavailable(f"no image for builds can be made for {machine}")
    architecture = _ARCHITECTURES[machine]
    integrity = f"sha512-{_NODE_INTEGRITY[major, architecture]}"
    package = Package(f"node-linux-{architecture}", NODE_VERSIONS[major], integrity)
    return NpmFiles(package, (("bin/node", NODE),))


_GENERATOR_PACKAGES = {
    "hugo": ("hugo",),
    "jekyll": (
        "jekyll",
        "jekyll-theme-minima",
        *(f"ruby-jekyll-{name}" for name in ("feed", "paginate", "redirect-from", "seo-tag", "sitemap")),
    ),
    # MkDocs for projects without a requirements.txt; with one, everything comes from there.
    "python": ("mkdocs", "python3-pip", "python3-venv"),
}


def _generator(name: str) -> Recipe:
    """From the current release of Debian, which has newer generators than the one before it."""
    return Recipe(
        name=name,
        edition=1,
        debian=("ca-certificates", "git", "socat", "tini", *_GENERATOR_PACKAGES[name]),
        suites=_TRIXIE,
        users=((BUILD_USER, BUILD_UID),),
        directories=("/work", "/cache"),
    )


def _functions() -> Recipe:
    machine = platform.machine()
    if machine not in _FUNCTION_BINARIES:
        raise ImageUnavailable(f"no image for functions can be made for {machine}")
    return Recipe(
        name="functions",
        edition=2,
        debian=(
            *("ca-certificates", "libatomic1", "libstdc++6", "socat", "tini"),
            *("clang", "lld", "wasi-libc", "libclang-rt-dev-wasm32"),
            *("rustc", "libstd-rust-dev-wasm32", "golang-go"),
        ),
        suites=_TRIXIE,
        dpkg_options=tuple(f"path-exclude={pattern}" for pattern in _UNUSED_BY_COMPILERS),
        npm=(
            _node("24"),
            *(
                NpmFiles(package, (("", f"{FUNCTION_PACKAGES}/{package.name}"),))
                for package in (_ESBUILD, _QUICKJS, *_FUNCTION_BINARIES[machine])
            ),
        ),
        python=(
            PythonFiles(
                "ziglang",
                _ZIG_VERSION,
                _ZIG_DIGESTS[machine],
                (
                    ("ziglang/zig", f"{ZIG}/zig"),
                    *((f"ziglang/lib/{name}", f"{ZIG}/lib/{name}") for name in _ZIG_LIBRARY),
                ),
            ),
        ),
        users=((BUILD_USER, BUILD_UID),),
        directories=("/work", "/cache", FUNCTION_TOOLCHAIN),
    )


def _composer() -> Recipe:
    return Recipe(
        name="composer",
        edition=1,
        debian=(
            *("ca-certificates", "composer", "curl", "git", "openssh-client", "socat", "tini", "unzip"),
            *(f"php8.2-{extension}" for extension in ("cli", "curl", "intl", "mbstring", "xml", "zip")),
        ),
        suites=_BOOKWORM,
        users=((BUILD_USER, BUILD_UID),),
        directories=("/work", "/cache"),
    )


def _php(version: str) -> Recipe:
    """PHP from Debian: 8.2 from the release before the current one, 8.4 from the current one, 8.5 from the
    next one. OPcache has been a part of PHP since 8.5; imagick has not been released for it yet."""
    extensions = _EXTENSIONS if version == "8.5" else (*_EXTENSIONS, "imagick", "opcache")
    return Recipe(
        name=f"php{version}",
        edition=1,
        note="from Debian experimental, without imagick" if version == "8.5" else "",
        debian=(*_BESIDE_PHP, *(f"php{version}-{extension}" for extension in extensions)),
        suites={"8.2": _BOOKWORM, "8.4": _TRIXIE, "8.5": ("sid", "experimental")}[version],
        accepts_expired_indexes=version == "8.5",
        dpkg_options=_CLIENTS,
        directories=_PHP_DIRECTORIES,
        files=_PHP_FILES,
        links=((PHP, f"/usr/bin/php{version}"), (PHP_FPM, f"/usr/sbin/php-fpm{version}")),
    )


def _php83() -> Recipe:
    """Debian has never had PHP 8.3. This build of a third party closes the gap, with a note: it contains
    libraries of Amazon Linux 2, which get no security updates through Debian."""
    if (machine := platform.machine()) != "x86_64":
        raise ImageUnavailable(f"there is no PHP 8.3 for {machine}")
    return Recipe(
        name="php8.3",
        edition=1,
        note="a stand-in: third-party build with OpenSSL 1.0.2, without gd and imagick; not for production",
        debian=(*_BESIDE_PHP, "libgssapi-krb5-2"),
        suites=_BOOKWORM,
        dpkg_options=_CLIENTS,
        npm=(
            NpmFiles(
                _PHP83,
                (
                    ("native/php/php", f"{_PHP83_HOME}/php"),
                    ("native/php/php-fpm", f"{_PHP83_HOME}/php-fpm"),
                    ("native/php/modules", f"{_PHP83_HOME}/modules"),
                    ("native/lib", f"{_PHP83_HOME}/lib"),
                ),
            ),
        ),
        directories=_PHP_DIRECTORIES,
        files=(
            *_PHP_FILES,
            TextFile("/etc/php/8.3/php.ini", _PHP83_INI),
            TextFile(PHP, _PHP83_WRAPPER.format(program="php"), 0o755),
            TextFile(PHP_FPM, _PHP83_WRAPPER.format(program="php-fpm"), 0o755),
        ),
    )


def _wordpress() -> Recipe:
    return Recipe(
        name="wordpress",
        edition=1,
        npm=(
            NpmFiles(
                _WORDPRESS,
                (
                    ("dist/cli/wp-files/latest/wordpress/wp-content", WORDPRESS_CONTENT),
                    ("dist/cli/wp-files/latest/wordpress", WORDPRESS_CORE),
                    ("dist/cli/wp-files/wp-cli/wp-cli.phar", WP_CLI),
                ),
            ),
        ),
        directories=(f"{WORDPRESS_CORE}/wp-content",),
        files=(TextFile(f"{WORDPRESS_CORE}/wp-config.php", _WP_CONFIG),),
    )


_PHP_DIRECTORIES = (PLATFORM_FILES, SITE, WORDPRESS_CORE)
_PHP_FILES = (TextFile(WP_CLI, ""),)
_WP_CONFIG = f"""<?php
// The settings of this site are written by the platform.
require '{PLATFORM_FILES}/wp-config.php';
// WP-CLI reads this file and expects exactly this line in it.
require_once ABSPATH . 'wp-settings.php';
"""
_PHP83_HOME = "/opt/php8.3"
_PHP83_WRAPPER = f"""#!/bin/sh
LD_LIBRARY_PATH={_PHP83_HOME}/lib exec {_PHP83_HOME}/{{program}} -c /etc/php/8.3/php.ini "$@"
"""
_PHP83_MODULES = (
    *("bcmath", "calendar", "ctype", "curl", "dom", "exif", "fileinfo", "ftp", "gettext", "iconv", "intl"),
    *("mbstring", "mysqlnd", "pdo", "phar", "simplexml", "sodium", "tokenizer", "xml", "xmlwriter", "xsl"),
    *("zip", "mysqli", "pdo_mysql", "xmlreader"),
)
_PHP83_INI = "".join(
    (
        f"extension_dir={_PHP83_HOME}/modules\n",
        "zend_extension=opcache\n",
        *(f"extension={module}\n" for module in _PHP83_MODULES),
        "openssl.cafile=/etc/ssl/certs/ca-certificates.crt\n",
        "curl.cainfo=/etc/ssl/certs/ca-certificates.crt\n",
    )
)
