"""What visitors of production have done since an environment was copied is listed and kept by a push."""

import pytest

from stead.node.wordpress.protected_data import PushRefused, keep_data_of_production
from stead.node.wordpress.push_review import list_newer
from tests.node.databases.harness import DatabaseHarness, Tenant

TABLES = {
    "wp_posts": "ID INT PRIMARY KEY, post_type VARCHAR(20), post_status VARCHAR(20) DEFAULT 'publish',"
    " post_date_gmt DATETIME, post_modified_gmt DATETIME",
    "wp_postmeta": "meta_id INT PRIMARY KEY AUTO_INCREMENT, post_id INT, meta_key TEXT, meta_value TEXT",
    "wp_users": "ID INT PRIMARY KEY, user_login VARCHAR(60), user_registered DATETIME",
    "wp_comments": "comment_ID INT PRIMARY KEY, comment_date_gmt DATETIME",
    "wp_options": "option_id INT PRIMARY KEY AUTO_INCREMENT, option_name VARCHAR(99) UNIQUE,"
    " option_value TEXT",
    "wp_wc_orders": "id INT PRIMARY KEY, date_created_gmt DATETIME, date_updated_gmt DATETIME,"
    " day DATE AS (DATE(date_created_gmt)) STORED",
}
ORDER = "INSERT INTO wp_wc_orders (id, date_created_gmt, date_updated_gmt)"
BEFORE, AFTER = "2026-01-01 10:00:00", "2026-02-01 10:00:00"


async def _site(bench: DatabaseHarness) -> Tenant:
    tenant = await bench.tenant()
    for table, columns in TABLES.items():
        tenant.query(f"CREATE TABLE {table} ({columns})")
    tenant.query(f"INSERT INTO wp_posts VALUES (1, 'post', 'publish', '{BEFORE}', '{BEFORE}')")
    tenant.query(f"INSERT INTO wp_posts VALUES (2, 'shop_order', 'paid', '{BEFORE}', '{BEFORE}')")
    tenant.query("INSERT INTO wp_postmeta (post_id, meta_key, meta_value) VALUES (2, 'total', '5')")
    tenant.query(f"INSERT INTO wp_users VALUES (1, 'editor', '{BEFORE}')")
    tenant.query(f"INSERT INTO wp_comments VALUES (1, '{BEFORE}')")
    tenant.query(f"{ORDER} VALUES (7, '{BEFORE}', '{BEFORE}')")
    return tenant


async def test_what_is_new_is_listed_and_what_visitors_did_is_kept(bench: DatabaseHarness) -> None:
    production, staging = await _site(bench), await _site(bench)
    names = (production.socket, production.environment, staging.environment)
    assert list_newer(*names) == []
    for tenant, public, title in ((production, "1", "old"), (staging, "0", "new")):
        for name, value in (("blog_public", public), ("blogname", title)):
            tenant.query(f"INSERT INTO wp_options (option_name, option_value) VALUES ('{name}', '{value}')")
    # Production: an order in each format, a changed order and post, a user, a comment.
    production.query(f"INSERT INTO wp_posts VALUES (30, 'shop_order', 'paid', '{AFTER}', '{AFTER}')")
    production.query("INSERT INTO wp_postmeta (post_id, meta_key, meta_value) VALUES (30, 'total', '9')")
    production.query(f"{ORDER} VALUES (8, '{AFTER}', '{AFTER}')")
    production.query(f"UPDATE wp_wc_orders SET date_updated_gmt = '{AFTER}' WHERE id = 7")
    production.query(f"UPDATE wp_posts SET post_modified_gmt = '{AFTER}' WHERE ID = 1")
    production.query(f"INSERT INTO wp_posts VALUES (31, 'revision', 'inherit', '{AFTER}', '{AFTER}')")
    production.query(f"INSERT INTO wp_users VALUES (2, 'customer', '{AFTER}')")
    production.query(f"INSERT INTO wp_comments VALUES (2, '{AFTER}')")
    # Staging: a new page, a user with the same number, a newer version of a plugin with another column.
    staging.query(f"INSERT INTO wp_posts VALUES (20, 'page', 'publish', '{AFTER}', '{AFTER}')")
    staging.query("INSERT INTO wp_users VALUES (2, 'tester', '2026-01-15 00:00:00')")
    staging.query("ALTER TABLE wp_wc_orders ADD COLUMN note TEXT DEFAULT 'none'")
    assert [str(each) for each in list_newer(*names)] == [
        "production has 2 new or changed orders: they are kept",
        "production has 1 new or changed users: they are kept",
        "production has 1 new or changed comments: they are kept",
        "production has 1 new or changed posts of the type post: they would be lost",
        "production has 1 new or changed posts of the type shop_order: they are kept",
    ]
    for _ in range(2):
        kept = keep_data_of_production(*names)
        assert kept == ["wp_comments", "wp_users", "wp_wc_orders"]
        posts = staging.query("SELECT ID, post_type FROM wp_posts ORDER BY ID")
        assert posts == [(1, "post"), (2, "shop_order"), (20, "page"), (30, "shop_order")]
        meta = staging.query("SELECT post_id, meta_value FROM wp_postmeta ORDER BY post_id")
        assert meta == [(2, "5"), (30, "9")]
        assert staging.query("SELECT user_login FROM wp_users ORDER BY ID") == [("editor",), ("customer",)]
        assert staging.query("SELECT id, note FROM wp_wc_orders ORDER BY id") == [(7, "none"), (8, "none")]
        assert staging.query("SELECT option_name, option_value FROM wp_options ORDER BY option_name") == [
            ("blog_public", "1"),
            ("blogname", "new"),
        ]
    for tenant in (production, staging):
        await bench.databases.drop(tenant.environment)


async def test_an_order_is_never_overwritten_by_a_post_with_its_number(bench: DatabaseHarness) -> None:
    production, staging = await _site(bench), await _site(bench)
    production.query(f"INSERT INTO wp_posts VALUES (20, 'shop_order', 'paid', '{AFTER}', '{AFTER}')")
    staging.query(f"INSERT INTO wp_posts VALUES (20, 'page', 'publish', '{AFTER}', '{AFTER}')")
    staging.query("INSERT INTO wp_users VALUES (9, 'tester', NULL)")
    with pytest.raises(PushRefused, match="1 orders or entries"):
        keep_data_of_production(production.socket, production.environment, staging.environment)
    assert staging.query("SELECT COUNT(*) FROM wp_users") == [(2,)], "nothing was changed"
    for tenant in (production, staging):
        await bench.databases.drop(tenant.environment)
