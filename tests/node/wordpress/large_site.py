"""Generates a WordPress site of any size, and finds rows and files of a copy of it that are not as expected.

MariaDB generates most rows. They are compared with what the same expressions generate for another host.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stead.mariadb.connection import Connection, connect
from stead.node.databases.names import quote_name
from tests.node.wordpress import serialized_shapes as shapes
from tests.node.wordpress.wordpress_node import Site

FIRST_POST = 1000
POSTS_PER_ROUND = 2000
"""Every shape of value exists once for so many posts."""
BYTES_PER_POST = 10 << 10
"""Of uploads."""
_BATCH = 20_000
_BLOCK_BYTES, _FILE_BYTES = 4 << 20, (20 << 10, 1 << 20)
_PROSE = "The quick brown fox jumps over the lazy dog and visits the shop again. "
_PREFIX = "large "


@dataclass(frozen=True)
class LargeSite:
    """`host` is the one of production, for which the rows are generated."""

    host: str
    posts: int
    block: bytes = field(default=hashlib.shake_128(b"uploads").digest(_BLOCK_BYTES), repr=False)
    """All files are parts of it, after a number."""

    def make_rows(self, site: Site) -> None:
        with _use(site) as connection:
            for first in range(1, self.posts + 1, _BATCH):
                _make_posts(connection, self.host, first, min(first + _BATCH, self.posts + 1) - 1)
            for name, value in self.expect_options(self.host).items():
                statement = (
                    "INSERT INTO wp_options (option_name, option_value, autoload) VALUES (%s, %s, 'off')"
                )
                connection.execute(statement, [name, value.decode()])
            connection.execute("CREATE TABLE wp_vendor_blobs (name VARCHAR(190) PRIMARY KEY, value LONGBLOB)")
            for name, value in shapes.binary(self.host).items():
                connection.execute("INSERT INTO wp_vendor_blobs VALUES (%s, %s)", [name, value])

    def make_uploads(self, uploads: Path) -> int:
        """Returns the number of files."""
        count = 0
        for name, content in self._files():
            path = uploads / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            count += 1
        return count

    def expect_options(self, host: str) -> Mapping[str, bytes]:
        """All generated options, as the site has them at this host."""
        values = {f"long {name}": value for name, value in shapes.follow_long(host).items()}
        for number in range(max(1, self.posts // POSTS_PER_ROUND)):
            followed, kept = shapes.follow(host, number, self.host), shapes.stay(self.host, number)
            for name, value in {**followed, **kept}.items():
                values[f"{number} {name}"] = value
        return {f"{_PREFIX}{name}": value for name, value in values.items()}

    def find_wrong_options(self, site: Site) -> list[str]:
        """The names of options that are missing, unexpected or different."""
        wanted = self.expect_options(site.host)
        rows = site.query(
            "SELECT option_name, CAST(option_value AS BINARY) FROM {schema}.wp_options"
            f" WHERE option_name LIKE '{_PREFIX}%'"
        )
        found = {str(name): value for name, value in rows}
        return sorted(
            name for name in {*wanted, *found} if name not in found or found[name] != wanted.get(name)
        )

    def find_wrong_blobs(self, site: Site) -> list[str]:
        rows = site.query("SELECT name, value FROM {schema}.wp_vendor_blobs")
        wanted, found = shapes.binary(site.host), {str(name): value for name, value in rows}
        return sorted(name for name in {*wanted, *found} if found.get(name) != wanted.get(name))

    def count_right_rows(self, site: Site) -> dict[str, int]:
        """How many posts and values of posts are exactly those that this host must have."""
        with _use(site) as connection:
            numbers = f"seq_1_to_{self.posts:d}"
            return {
                "posts": _count(
                    connection,
                    f"{numbers} JOIN wp_posts ON ID = {FIRST_POST} + seq"
                    f" WHERE post_content = BINARY {_content(site.host)} AND guid = BINARY {_guid(self.host)}"
                    " AND post_modified = post_date",
                ),
                "values": _count(
                    connection,
                    f"{numbers} JOIN wp_postmeta ON post_id = {FIRST_POST} + seq AND meta_key = 'details'"
                    f" WHERE meta_value = BINARY {_details(site.host)}",
                ),
                "comments": _count(
                    connection,
                    f"{numbers} JOIN wp_comments ON comment_post_ID = {FIRST_POST} + seq"
                    " WHERE comment_content = CONCAT('Comment ', seq)",
                ),
            }

    def expect_rows(self, deleted: int = 0) -> dict[str, int]:
        """`deleted` posts had no comments."""
        return {"posts": self.posts - deleted, "values": self.posts - deleted, "comments": self.posts // 4}

    def find_wrong_uploads(self, uploads: Path) -> list[str]:
        return [name for name, content in self._files() if not _contains(uploads / name, content)]

    def _files(self) -> Iterator[tuple[str, bytes]]:
        sizes = random.Random(2)  # noqa: S311 - the same ones every time
        left, number = self.posts * BYTES_PER_POST, 0
        while left > 0:
            size = min(left, sizes.randint(*_FILE_BYTES))
            begin = sizes.randrange(len(self.block) - size)
            name = f"{2000 + number % 20}/{1 + number % 12:02}/picture-{number}.jpg"
            yield name, b"%d " % number + self.block[begin : begin + size]
            left, number = left - size, number + 1


@contextmanager
def _use(site: Site) -> Iterator[Connection]:
    with connect(site.node.databases.databases.socket) as connection:
        connection.execute(f"USE {quote_name(site.schema)}")
        yield connection


def _contains(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except FileNotFoundError:
        return False


def _count(connection: Connection, source: str) -> int:
    ((count,),) = connection.execute(f"SELECT COUNT(*) FROM {source}")
    return int(count or 0)


def _make_posts(connection: Connection, host: str, first: int, last: int) -> None:
    numbers = f"seq_{first:d}_to_{last:d}"
    date = "TIMESTAMPADD(MINUTE, seq, '2020-01-01')"
    connection.execute(
        "INSERT INTO wp_posts (ID, post_author, post_date, post_date_gmt, post_modified, post_modified_gmt,"
        " post_content, post_title, post_name, post_excerpt, to_ping, pinged, post_content_filtered, guid)"
        f" SELECT {FIRST_POST} + seq, 1, {date}, {date}, {date}, {date}, {_content(host)},"
        f" CONCAT('Post ', seq), CONCAT('post-', seq), '', '', '', '', {_guid(host)} FROM {numbers}"
    )
    connection.execute(
        "INSERT INTO wp_postmeta (post_id, meta_key, meta_value)"
        f" SELECT {FIRST_POST} + seq, 'details', {_details(host)} FROM {numbers}"
        f" UNION ALL SELECT {FIRST_POST} + seq, '_edit_last', '1' FROM {numbers}"
    )
    connection.execute(
        "INSERT INTO wp_comments (comment_post_ID, comment_author, comment_content, comment_date,"
        f" comment_date_gmt) SELECT {FIRST_POST} + seq, 'Visitor', CONCAT('Comment ', seq), {date}, {date}"
        f" FROM {numbers} WHERE seq % 4 = 0"
    )


def _content(host: str) -> str:
    """SQL for the content of a post. Half of the posts link to the site, in a block and in HTML."""
    url = f"'https://{host}/wp-content/uploads/', seq, '.jpg'"
    block = f"""'<!-- wp:image {{"id":', seq, ',"url":"', {url}, '"}} -->'"""
    image = f"""{block}, '<img src="', {url}, '"><!-- /wp:image -->'"""
    return (
        f"CONCAT('<!-- wp:paragraph --><p>', seq, ' ', REPEAT('{_PROSE}', 5 + seq % 41),"
        f" '</p><!-- /wp:paragraph -->', IF(seq % 2, CONCAT({image}), ''))"
    )


def _details(host: str) -> str:
    """SQL for a serialized value of a post. A quarter of them name the site."""
    url = f"CONCAT('https://', IF(seq % 4, 'other.example', '{host}'), '/bücher/', seq)"
    return (
        f"""CONCAT('a:3:{{s:3:"url";s:', OCTET_LENGTH({url}), ':"', {url}, '";',"""
        """ 's:5:"sizes";a:2:{i:0;i:', seq, ';i:1;d:0.5;}s:4:"link";R:2;}')"""
    )


def _guid(host: str) -> str:
    return f"CONCAT('https://{host}/?p=', seq)"
