"""For each setting a test that shows its effect. A setting without a line here must not exist."""

EFFECTS = {
    "security.waf_engine_mode": (
        "tests/edge/test_applications.py::test_the_verdict_of_the_firewall_is_in_the_ledger"
    ),
    "security.ip_reputation_enabled": (
        "tests/edge/test_settings_of_sites.py::test_visitors_from_listed_networks_are_refused"
    ),
    "security.login_lockout_enabled": (
        "tests/edge/test_applications.py::test_an_address_is_locked_out_after_five_failed_sign_ins"
    ),
    "security.magic_links_enabled": (
        "tests/control/access/test_magic_links.py::test_links_can_be_switched_off_and_then_none_is_used"
    ),
    "security.allowed_ips": "tests/edge/test_routing.py::test_every_state_has_its_page",
    "security.hsts_seconds": "tests/edge/test_tls.py::test_plain_http_is_redirected_to_https",
    "security.waf_partner_client_id": (
        "tests/edge/test_settings_of_sites.py::test_a_site_with_a_partner_answers_only_through_the_partner"
    ),
    "security.waf_partner_secret_key": (
        "tests/edge/test_settings_of_sites.py::test_a_site_with_a_partner_answers_only_through_the_partner"
    ),
    "security.preview_protection": (
        "tests/edge/test_protection.py::test_a_member_of_the_team_comes_with_a_token"
    ),
    "security.preview_password": (
        "tests/edge/test_protection.py::test_a_password_opens_a_preview_for_one_browser"
    ),
    "performance.page_cache_ttl": (
        "tests/edge/test_page_cache.py::test_without_a_time_to_live_nothing_is_cached"
    ),
    "performance.php_workers": (
        "tests/control/configuration/test_effects.py::test_a_new_number_of_workers_reaches_the_node"
    ),
    "performance.hot_page_count": "tests/edge/test_hot_pages.py::test_only_the_most_visited_pages_are_kept",
    "performance.hot_ttl_seconds": (
        "tests/edge/test_settings_of_sites.py::test_a_page_is_kept_warm_without_visitors_noticing"
    ),
    "performance.hot_refresh_interval_seconds": (
        "tests/edge/test_hot_pages.py::test_pages_are_fetched_again_after_the_interval_and_after_a_purge"
    ),
    "serving.headers": (
        "tests/edge/test_site_rules.py::test_headers_of_the_settings_come_after_those_of_the_files"
    ),
    "observability.trace_sample_rate": (
        "tests/edge/test_lua_pages.py::test_a_trace_is_continued_only_if_well_formed"
    ),
}
