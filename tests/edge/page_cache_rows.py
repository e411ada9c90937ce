"""The rules of the page cache, as examples.

A row is a second request for a page. The first one is that of an anonymous visitor for the same URL, or for
`seed`. The application answers both with `status` and `answer`. The outcome of the second request is

- HIT: the page of the first visitor;
- OWN: another page, which is cached under a key of its own;
- BYPASS: a page for this visitor alone;
- NEVER: a page that is fetched again each time, because it failed.
"""

from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["hit", "own", "bypass", "never"]
HIT: Outcome = "hit"
OWN: Outcome = "own"
BYPASS: Outcome = "bypass"
NEVER: Outcome = "never"


@dataclass(frozen=True)
class Row:
    rule: str
    target: str
    outcome: Outcome
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    seed: str | None = None
    status: int = 200
    answer: dict[str, str] = field(default_factory=dict)
    lives: int | None = None
    """For how many seconds the page is cached, where the row is about it; `page_cache_ttl` is a day."""


def request(
    rule: str, target: str, outcome: Outcome, seed: str | None = None, lives: int | None = None
) -> Row:
    return Row(rule, target, outcome, seed=seed, lives=lives)


def header(rule: str, name: str, value: str, outcome: Outcome) -> Row:
    return Row(rule, "/page/", outcome, headers={name: value})


def cookie(rule: str, value: str, outcome: Outcome) -> Row:
    return Row(rule, "/page/", outcome, headers={"Cookie": value})


def answer(
    rule: str, name: str, value: str, outcome: Outcome, status: int = 200, lives: int | None = None
) -> Row:
    return Row(rule, "/page/", outcome, status=status, answer={name: value} if name else {}, lives=lives)


TEN_HOURS, MINUTE = 36_000, 60

METHODS = [
    Row("GET", "/page/", HIT),
    Row("HEAD is answered from the page of a GET", "/page/", HIT, method="HEAD"),
    Row("POST", "/page/", BYPASS, method="POST", body="a=1"),
    Row("POST without a body", "/page/", BYPASS, method="POST", headers={"Content-Length": "0"}),
    Row("PUT", "/page/", BYPASS, method="PUT", body="a=1"),
    Row("DELETE", "/page/", BYPASS, method="DELETE"),
    Row("OPTIONS", "/page/", BYPASS, method="OPTIONS"),
    Row("GET with a body", "/page/", BYPASS, body="a=1"),
]
COOKIES = [
    cookie("signed in", "wordpress_logged_in_9a8b7c=editor", BYPASS),
    cookie("signed in to the dashboard", "wordpress_sec_9a8b7c=editor", BYPASS),
    cookie("a cookie of the dashboard", "wordpress_9a8b7c=editor", BYPASS),
    cookie("has entered the password of a post", "wp-postpass_9a8b7c=x", BYPASS),
    cookie("resets a password", "wp-resetpass-9a8b7c=x", BYPASS),
    cookie("has commented", "comment_author_9a8b7c=me", BYPASS),
    cookie("has commented with an address", "comment_author_email_9a8b7c=me%40example.com", BYPASS),
    cookie("WooCommerce: has a cart", "woocommerce_items_in_cart=1", BYPASS),
    cookie("WooCommerce: the digest of a cart", "woocommerce_cart_hash=abc", BYPASS),
    cookie("WooCommerce: a session", "wp_woocommerce_session_9a8b7c=t_1", BYPASS),
    cookie("WooCommerce: a country", "woocommerce_geo_hash=abc", BYPASS),
    cookie("WooCommerce: recently viewed", "woocommerce_recently_viewed=1", BYPASS),
    cookie("WooCommerce: where a customer came from", "sbjs_first=typ%3Dtypein; sbjs_session=1", HIT),
    cookie("Easy Digital Downloads: has a cart", "edd_items_in_cart=1", BYPASS),
    cookie("BuddyPress", "bp-message=x", BYPASS),
    cookie("a session of PHP", "PHPSESSID=1", BYPASS),
    cookie("a language", "pll_language=de", BYPASS),
    cookie("unknown", "anything=else", BYPASS),
    cookie("without a value", "anything", BYPASS),
    cookie("after a harmless one", "_ga=GA1.2;woocommerce_items_in_cart=1", BYPASS),
    cookie("in capitals", "WordPress_Logged_In_9a8b7c=editor", BYPASS),
    cookie("a test of WordPress's", "wordpress_test_cookie=WP%20Cookie%20check", HIT),
    cookie("settings of the dashboard", "wp-settings-1=x; wp-settings-time-1=1700000000", HIT),
    cookie("analytics", "_ga=GA1.2; _ga_ABC=1; _gid=2; _fbp=3; _pk_id.1=4", HIT),
    cookie("consent", "CookieConsent={stamp}; cmplz_banner-status=dismissed", HIT),
    cookie("an empty header", "", HIT),
]
QUERIES = [
    request(
        "tracking arguments do not count", "/page/?utm_source=x&utm_medium=y&fbclid=1", HIT, seed="/page/"
    ),
    request("also in capitals", "/page/?UTM_Source=x&GCLID=1", HIT, seed="/page/"),
    request("also encoded", "/page/?utm%5Fsource=x", HIT, seed="/page/"),
    request("also of e-mails", "/page/?mc_cid=1&mc_eid=2&_hsenc=3&mkt_tok=4", HIT, seed="/page/"),
    request("also of Matomo", "/page/?pk_campaign=1&mtm_source=2", HIT, seed="/page/"),
    request("the order of arguments does not count", "/page/?b=2&a=1", HIT, seed="/page/?a=1&b=2"),
    request("an empty query", "/page/?", HIT, seed="/page/"),
    request("separators alone", "/page/?&&", HIT, seed="/page/"),
    request("an unknown argument", "/page/?color=red", OWN, seed="/page/"),
    request("another value", "/page/?color=red", OWN, seed="/page/?color=blue"),
    request("names are compared exactly", "/page/?Color=red", OWN, seed="/page/?color=red"),
    request("the order of equal names counts", "/page/?a=2&a=1", OWN, seed="/page/?a=1&a=2"),
    request("a post by its number", "/?p=5", OWN, seed="/"),
    request("pagination", "/page/?paged=2", OWN, seed="/page/"),
    request("a search", "/?s=word", HIT, lives=MINUTE),
    request("another search", "/?s=other", OWN, seed="/?s=word"),
    request("a preview", "/?p=5&preview=true", BYPASS),
    request("a preview with its nonce", "/?preview_id=5&preview_nonce=abc", BYPASS),
    request("the customizer", "/?customize_changeset_uuid=1", BYPASS),
    request("an editor", "/page/?elementor-preview=5", BYPASS),
    request("WooCommerce: adds to the cart", "/page/?add-to-cart=7", BYPASS),
    request("also encoded", "/page/?add%2Dto%2Dcart=7", BYPASS),
    request("also as a list", "/page/?add-to-cart[]=7", BYPASS),
    request("also as PHP reads it", "/page/?_wpnonce.=1&add-to-cart%5B0%5D=7", BYPASS),
    request("also after others", "/page/?a=1&utm_source=x&add-to-cart=7", BYPASS),
    request("WooCommerce: removes from the cart", "/page/?remove_item=abc&_wpnonce=def", BYPASS),
    request("WooCommerce: scripts", "/?wc-ajax=get_refreshed_fragments", BYPASS),
    request("Easy Digital Downloads", "/page/?edd_action=add_to_cart&download_id=1", BYPASS),
    request("the REST interface", "/?rest_route=/wp/v2/posts", BYPASS),
    request("a nonce", "/page/?_wpnonce=abc", BYPASS),
    request("an unapproved comment", "/page/?unapproved=1&moderation-hash=abc", BYPASS),
    request("a reply to a comment", "/page/?replytocom=4", BYPASS),
    request("the cron of WordPress", "/?doing_wp_cron=1700000000.1", BYPASS),
    request("a link with a secret", "/page/?key=wc_order_abc&token=x", BYPASS),
    request("more than 1,024 characters", "/page/?x=" + "y" * 1100, BYPASS),
]
PATHS = [
    request("the dashboard", "/wp-admin/", BYPASS),
    request("the dashboard without a slash", "/wp-admin", BYPASS),
    request("a page of the dashboard", "/wp-admin/index.php", BYPASS),
    request("WordPress in a directory", "/blog/wp-admin/edit.php", BYPASS),
    request("scripts of the dashboard", "/wp-admin/admin-ajax.php?action=x", BYPASS),
    request("signing in", "/wp-login.php", BYPASS),
    request("signing in, encoded", "/wp%2Dlogin.php", BYPASS),
    request("signing in, with more slashes", "//wp-login.php", BYPASS),
    request("signing in, by another way", "/x/../wp-login.php", BYPASS),
    request("signing in, with a path behind it", "/wp-login.php/x", BYPASS),
    request("signing up", "/wp-signup.php", BYPASS),
    request("commenting", "/wp-comments-post.php", BYPASS),
    request("XML-RPC", "/xmlrpc.php", BYPASS),
    request("cron", "/wp-cron.php", BYPASS),
    request("any other script", "/wp-content/plugins/x/endpoint.php", BYPASS),
    request("REST", "/wp-json/wp/v2/posts", BYPASS),
    request("REST without its end", "/wp-json", BYPASS),
    request("REST behind index.php", "/index.php/wp-json/wp/v2/posts", BYPASS),
    request("index.php", "/index.php", HIT),
    request("permalinks behind index.php", "/index.php/a-post/", HIT),
    request("WooCommerce: the cart", "/cart/", BYPASS),
    request("WooCommerce: the checkout", "/checkout/order-received/7/", BYPASS),
    request("WooCommerce: an account", "/my-account/orders/", BYPASS),
    request("WooCommerce: an interface", "/wc-api/callback/", BYPASS),
    request("a page whose name begins like the cart", "/cartography/", HIT),
    request("an embedded post", "/a-post/embed/", BYPASS),
    request("a feed", "/feed/", HIT, lives=MINUTE),
    request("a feed of comments", "/a-post/feed/atom/", HIT, lives=MINUTE),
    request("a feed by its argument", "/?feed=rss2", HIT, lives=MINUTE),
    request("a sitemap", "/wp-sitemap-posts-post-1.xml", HIT, lives=MINUTE),
    request("a generated robots.txt", "/robots.txt", BYPASS),
    request("encoding of plain characters", "/%70age/", HIT, seed="/page/"),
    request("small hexadecimal digits", "/caf%c3%a9/", HIT, seed="/caf%C3%A9/"),
    request("encoding that means something", "/a%2Fb/", OWN, seed="/a/b/"),
    request("an encoded dot stays", "/a/%2e%2e/page/", OWN, seed="/page/"),
    request("capitals", "/Page/", OWN, seed="/page/"),
    request("the slash at the end", "/page", OWN, seed="/page/"),
    request("a name in several languages", "/%E6%97%A5%E6%9C%AC/", HIT),
]
REQUEST_HEADERS = [
    header("credentials", "Authorization", "Basic eDp5", BYPASS),
    header("credentials of a program", "Authorization", "Bearer x", BYPASS),
    header("another site's script", "Origin", "https://elsewhere.example", BYPASS),
    header("a nonce", "X-WP-Nonce", "abc", BYPASS),
    header("a script", "X-Requested-With", "XMLHttpRequest", BYPASS),
    header("an app that shows web pages", "X-Requested-With", "com.example.app", HIT),
    header("a part of a page", "HX-Request", "true", BYPASS),
    header("a web socket", "Upgrade", "websocket", BYPASS),
    header("a range", "Range", "bytes=0-1", HIT),
    header("a condition", "If-None-Match", '"x"', HIT),
    header(
        "browsers accept", "Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", HIT
    ),
    header("programs accept JSON", "Accept", "application/json", BYPASS),
    header("ActivityPub", "Accept", "application/activity+json, application/ld+json", BYPASS),
    header("images only", "Accept", "image/png", BYPASS),
    header("anything", "Accept", "*/*", HIT),
    header("compressed", "Accept-Encoding", "gzip, br", HIT),
    header("uncompressed", "Accept-Encoding", "identity", HIT),
    header("another language", "Accept-Language", "de-DE,de;q=0.9", HIT),
    header("another browser", "User-Agent", "Mozilla/5.0 (iPhone) Mobile", HIT),
    header("a visitor who reloads", "Cache-Control", "no-cache", HIT),
    header("a visitor who reloads everything", "Cache-Control", "no-store, max-age=0", HIT),
    header("an old visitor who reloads", "Pragma", "no-cache", HIT),
    header("pretends another host", "X-Forwarded-Host", "evil.example", HIT),
    header("pretends another scheme", "X-Forwarded-Proto", "https", HIT),
    header("pretends another address", "X-Forwarded-For", "203.0.113.9", HIT),
    header("pretends another URL", "X-Original-URL", "/wp-admin/", HIT),
    header("pretends another method", "X-HTTP-Method-Override", "DELETE", HIT),
    header("pretends to come from an edge", "X-Stead-Scheme", "https", HIT),
    header("pretends to know the key", "X-Stead-Key", "a 1 b", HIT),
]
ANSWERS = [
    answer("plain", "", "", HIT, lives=TEN_HOURS),
    answer("a cookie", "Set-Cookie", "wp_woocommerce_session_9a8b7c=t_1", BYPASS),
    answer("private", "Cache-Control", "private, max-age=600", BYPASS),
    answer(
        "of WordPress's nocache_headers()", "Cache-Control", "no-cache, must-revalidate, max-age=0", BYPASS
    ),
    answer("no-store", "Cache-Control", "max-age=60, No-Store", BYPASS),
    answer("no lifetime", "Cache-Control", "max-age=0", BYPASS),
    answer("no lifetime in shared caches", "Cache-Control", "max-age=600, s-maxage=0", BYPASS),
    answer("a lifetime", "Cache-Control", "public, max-age=120", HIT, lives=120),
    answer("a lifetime in shared caches", "Cache-Control", "max-age=5, s-maxage=90", HIT, lives=90),
    answer("longer than nonces live", "Cache-Control", "max-age=31536000", HIT, lives=TEN_HOURS),
    answer("old: not to be cached", "Pragma", "no-cache", BYPASS),
    answer("old: expired", "Expires", "Wed, 11 Jan 1984 05:00:00 GMT", BYPASS),
    answer("old: expires at once", "Expires", "0", BYPASS),
    answer("old: expires late", "Expires", "Fri, 01 Jan 2100 00:00:00 GMT", HIT, lives=TEN_HOURS),
    answer("varies by encoding", "Vary", "Accept-Encoding", HIT),
    answer("varies by cookie", "Vary", "Accept-Encoding, Cookie", BYPASS),
    answer("varies by browser", "Vary", "User-Agent", BYPASS),
    answer("varies by language", "Vary", "Accept-Language", BYPASS),
    answer("varies by type", "Vary", "Accept", BYPASS),
    answer("varies by everything", "Vary", "*", BYPASS),
    answer("wants a password", "WWW-Authenticate", "Basic", BYPASS),
    answer("tries to control nginx", "X-Accel-Expires", "86400", HIT, lives=TEN_HOURS),
    answer("301", "Location", "/other/", HIT, status=301, lives=TEN_HOURS),
    answer("301 with a secret", "Location", "/other/?_wpnonce=abc", BYPASS, status=301),
    answer("302", "Location", "/other/", BYPASS, status=302),
    answer("303", "Location", "/other/", BYPASS, status=303),
    answer("308", "Location", "/other/", HIT, status=308),
    answer("403", "", "", BYPASS, status=403),
    answer("404", "", "", HIT, status=404, lives=MINUTE),
    answer("410", "", "", HIT, status=410, lives=MINUTE),
    answer("429", "", "", BYPASS, status=429),
    answer("500", "", "", NEVER, status=500),
    answer("503, as in maintenance", "Retry-After", "600", NEVER, status=503),
]

ROWS = METHODS + COOKIES + QUERIES + PATHS + REQUEST_HEADERS + ANSWERS
