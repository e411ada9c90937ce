"""The headers and FastCGI parameters that pass between visitors, the edge and applications."""

SECURITY = {
    "X-Content-Type-Options": "$stead_sniffing",
    "Referrer-Policy": "$stead_referrer",
    "Strict-Transport-Security": "$stead_hsts",
    "X-Robots-Tag": "$stead_robots",
    "X-Trace-Id": "$stead_trace",
    # Scripts of a page can read this one.
    "Server-Timing": '"trace;desc=$stead_trace"',
}

DISTRUSTED = (
    "Forwarded",
    "Proxy",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Scheme",
    "X-Forwarded-Server",
    "X-Forwarded-Ssl",
    "X-HTTP-Host-Override",
    "X-HTTP-Method",
    "X-HTTP-Method-Override",
    "X-Host",
    "X-Method-Override",
    "X-Original-Host",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "X-Accel-Internal",
    "X-Stead-Hop",
    "X-Stead-Scheme",
    "X-Stead-Signature",
    "X-Stead-Key",
    "X-Stead-Verdict",
    "X-Stead-Warm",
    "X-Stead-Depth",
    "X-Stead-Subrequests",
    "X-Stead-Left",
    "X-WAF-Partner-Id",
    "X-WAF-Partner-Key",
)
"""Headers of a visitor that some frameworks believe. They never reach an application."""

STEERING = "X-Accel-Redirect X-Accel-Limit-Rate X-Accel-Buffering X-Accel-Charset"
"""Response headers with which an application could control nginx. They are ignored."""

REQUEST = {
    "Host": "$host",
    "Connection": '""',
    "Accept-Encoding": '""',
    "X-Real-IP": "$stead_visitor",
    "X-Forwarded-For": "$stead_visitor",
    "X-Forwarded-Proto": "$stead_seen_scheme",
    "X-Stead-Visitor": "$stead_visitor",
    "X-Stead-Site": "$stead_site",
    "X-Stead-Environment": "$stead_environment",
    "X-Stead-Release": "$stead_release",
    "traceparent": "$stead_traceparent",
    "X-Stead-Scheme": "$stead_seen_scheme",
}
"""Request headers for an application or another edge, and most of them for a function. nginx omits a header
with an empty value."""

FUNCTION_REQUEST = dict.fromkeys(
    ("X-Stead-Visitor", "X-Stead-Site", "X-Stead-Environment", "X-Stead-Release", "X-Stead-Scheme"), '""'
)
"""A function does not get these."""

PERSONAL = (
    *("Authorization", "Origin", "X-WP-Nonce", "Upgrade", "Content-Length", "Transfer-Encoding"),
    *("HX-Request", "X-PJAX"),
)
"""A request with one of these headers bypasses the page cache: its response is for one visitor, or is not a
whole page. Cookies have rules of their own."""

CACHED_REQUEST = {
    "X-Stead-Key": "$stead_key",
    "X-Stead-Warm": "$stead_warm",
    "User-Agent": '"Mozilla/5.0 (compatible; Stead page cache)"',
    "Accept": '"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"',
}
"""Further request headers for a page that may be cached. They are the same for all visitors, because all of
them share the page."""

PEER_REQUEST = {
    "X-Stead-Hop": "1",
    "X-Stead-Signature": "$stead_signature",
    "Accept-Encoding": "$http_accept_encoding",
}
"""Further request headers for another edge."""

APPLICATION_ROOT = "/srv/site"
"""Where an application finds its files inside its container."""

FASTCGI = {
    "QUERY_STRING": "$query_string",
    "REQUEST_METHOD": "$request_method",
    "CONTENT_TYPE": "$content_type",
    "CONTENT_LENGTH": "$content_length",
    "SCRIPT_NAME": "$fastcgi_script_name",
    "SCRIPT_FILENAME": f"{APPLICATION_ROOT}$fastcgi_script_name",
    "PATH_INFO": "$stead_path_info",
    "REQUEST_URI": "$request_uri",
    "DOCUMENT_URI": "$document_uri",
    "DOCUMENT_ROOT": APPLICATION_ROOT,
    "SERVER_PROTOCOL": "HTTP/1.1",
    "REQUEST_SCHEME": "$http_x_stead_scheme",
    "HTTPS": "$stead_inner_https if_not_empty",
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SERVER_SOFTWARE": "stead",
    "REMOTE_ADDR": "$remote_addr",
    "SERVER_NAME": "$host",
    "SERVER_PORT": "80",
    "REDIRECT_STATUS": "200",
    "HTTP_HOST": "$host",
    "HTTP_PROXY": '""',
}


def set_request_headers(more: dict[str, str]) -> str:
    headers = dict.fromkeys(DISTRUSTED, '""') | REQUEST | more
    return "".join(f"            proxy_set_header {name} {value};\n" for name, value in headers.items())


def join_personal_headers() -> str:
    """The values of these headers, one after the other; empty if a request has none of them."""
    return "".join(f"$http_{name.lower().replace('-', '_')}" for name in PERSONAL)


def add_security_headers() -> str:
    return "".join(f"        add_header {name} {value} always;\n" for name, value in SECURITY.items())


def set_fastcgi_parameters() -> str:
    return "".join(f"            fastcgi_param {name} {value};\n" for name, value in FASTCGI.items())
