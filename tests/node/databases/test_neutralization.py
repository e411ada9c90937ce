"""A copy of a shop does nothing to the customers of the shop, and keeps its content."""

from stead.node.wordpress.neutralization import neutralize
from tests.node.databases.harness import DatabaseHarness

TABLES = {
    "wp_options": "option_id INT PRIMARY KEY AUTO_INCREMENT, option_name VARCHAR(191), option_value LONGTEXT",
    "wp_users": "ID INT PRIMARY KEY, user_login VARCHAR(60), user_pass TEXT, user_activation_key TEXT",
    "wp_usermeta": "umeta_id INT PRIMARY KEY AUTO_INCREMENT, meta_key VARCHAR(255), meta_value LONGTEXT",
    "wp_actionscheduler_actions": "action_id INT PRIMARY KEY AUTO_INCREMENT, status VARCHAR(20)",
    "wp_actionscheduler_logs": "log_id INT PRIMARY KEY AUTO_INCREMENT, message TEXT",
    "wp_wc_webhooks": "webhook_id INT PRIMARY KEY, status VARCHAR(200)",
    "wp_woocommerce_sessions": "session_id INT PRIMARY KEY AUTO_INCREMENT, session_value TEXT",
}


async def test_a_copy_has_no_sessions_keys_scheduled_actions_or_webhooks(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    for table, columns in TABLES.items():
        tenant.query(f"CREATE TABLE {table} ({columns})")
    options = (
        "blog_public",
        "blogname",
        "_transient_x",
        "_site_transient_y",
        "a_transient_z",
        "recovery_keys",
    )
    for name in options:
        tenant.query(f"INSERT INTO wp_options (option_name, option_value) VALUES ('{name}', '1')")
    tenant.query("INSERT INTO wp_users VALUES (1, 'editor', '$P$hash', '1700000000:$P$key')")
    for key in ("session_tokens", "_application_passwords", "nickname"):
        tenant.query(f"INSERT INTO wp_usermeta (meta_key, meta_value) VALUES ('{key}', 'x')")
    for status in ("pending", "in-progress", "complete", "failed"):
        tenant.query(f"INSERT INTO wp_actionscheduler_actions (status) VALUES ('{status}')")
    tenant.query("INSERT INTO wp_actionscheduler_logs (message) VALUES ('x')")
    tenant.query("INSERT INTO wp_wc_webhooks VALUES (1, 'active'), (2, 'paused')")
    tenant.query("INSERT INTO wp_woocommerce_sessions (session_value) VALUES ('cart')")
    for _ in range(2):
        neutralize(tenant.socket, tenant.environment)
        assert tenant.query("SELECT option_name, option_value FROM wp_options ORDER BY option_id") == [
            ("blog_public", "0"),
            ("blogname", "1"),
            ("a_transient_z", "1"),
        ]
        assert tenant.query("SELECT * FROM wp_users") == [(1, "editor", "$P$hash", "")]
        assert tenant.query("SELECT meta_key FROM wp_usermeta") == [("nickname",)]
        actions = tenant.query("SELECT status FROM wp_actionscheduler_actions ORDER BY action_id")
        assert actions == [("canceled",), ("canceled",), ("complete",), ("failed",)]
        assert tenant.query("SELECT status FROM wp_wc_webhooks") == [("disabled",), ("disabled",)]
        for table in ("wp_actionscheduler_logs", "wp_woocommerce_sessions"):
            assert tenant.query(f"SELECT COUNT(*) FROM {table}") == [(0,)]
    await bench.databases.drop(tenant.environment)


async def test_every_site_of_a_network_is_neutralized(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    for table in ("wp_options", "wp_2_options", "wp_31_options", "wp_my_2_options", "xwp_options"):
        tenant.query(f"CREATE TABLE {table} ({TABLES['wp_options']})")
        tenant.query(f"INSERT INTO {table} (option_name, option_value) VALUES ('blog_public', '1')")
    tenant.query(f"CREATE TABLE wp_2_wc_webhooks ({TABLES['wp_wc_webhooks']})")
    tenant.query("INSERT INTO wp_2_wc_webhooks VALUES (1, 'active')")
    tenant.query(f"CREATE TABLE wp_2_woocommerce_sessions ({TABLES['wp_woocommerce_sessions']})")
    tenant.query("INSERT INTO wp_2_woocommerce_sessions (session_value) VALUES ('cart')")
    tenant.query("CREATE TABLE wp_sitemeta (meta_id INT PRIMARY KEY AUTO_INCREMENT, meta_key VARCHAR(255))")
    tenant.query("INSERT INTO wp_sitemeta (meta_key) VALUES ('_site_transient_x'), ('site_name')")
    tenant.query("CREATE TABLE wp_signups (signup_id INT PRIMARY KEY, activation_key VARCHAR(50))")
    tenant.query("INSERT INTO wp_signups VALUES (1, 'key')")
    # Of a plugin.
    tenant.query("CREATE TABLE wp_4_users (id INT PRIMARY KEY)")
    neutralize(tenant.socket, tenant.environment)
    for table in ("wp_options", "wp_2_options", "wp_31_options"):
        assert tenant.query(f"SELECT option_value FROM {table}") == [("0",)], table
    for table in ("wp_my_2_options", "xwp_options"):
        assert tenant.query(f"SELECT option_value FROM {table}") == [("1",)], table
    assert tenant.query("SELECT status FROM wp_2_wc_webhooks") == [("disabled",)]
    assert tenant.query("SELECT COUNT(*) FROM wp_2_woocommerce_sessions") == [(0,)]
    assert tenant.query("SELECT meta_key FROM wp_sitemeta") == [("site_name",)]
    assert tenant.query("SELECT activation_key FROM wp_signups") == [("",)]
    await bench.databases.drop(tenant.environment)


async def test_a_database_without_tables_is_no_problem(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    neutralize(tenant.socket, tenant.environment)
    await bench.databases.drop(tenant.environment)
