"""Renders nginx's configuration from the templates in `nginx/`. It names no host: it is written once for a
node and never changes while nginx runs.

There are two tiers. The outer tier accepts visitors, decides what to do with a request, serves files and
cached pages and forwards the rest. The inner tier listens on sockets, one for each mode of the firewall, and
passes what the firewall accepts to FastCGI.
"""

import re
from pathlib import Path

from stead.edge import headers
from stead.edge.firewall import DENIED_STATUS
from stead.edge.settings import EdgeSettings

TEMPLATES = Path(__file__).parent / "nginx"
VITALS_SCRIPT = Path(__file__).parent / "browser" / "vitals.js"

LEDGER_FORMAT = (
    '{"ts":$msec,"site":"$stead_site","environment":"$stead_environment","release":"$stead_release",'
    '"host":"$host","method":"$request_method","path":"$stead_path","status":$status,'
    '"bytes_in":$request_length,"bytes_out":$bytes_sent,"time":$request_time,'
    '"upstream_time":"$upstream_response_time","first_byte":"$upstream_header_time",'
    '"cache":"$upstream_cache_status","waf":"$stead_verdict",'
    '"trace":"$stead_trace","address":"$stead_network","tls":"$ssl_protocol","agent":"$stead_agent",'
    '"peer":"$stead_peer","reason":"$sent_http_x_stead_reason",'
    '"sampled":"$stead_sampled","vitals":"$stead_vitals",'
    '"function":"$stead_function","cpu":"$upstream_http_x_stead_cpu",'
    '"memory":"$upstream_http_x_stead_memory"}'
)
VARIABLES = (
    *(
        "made",
        "site",
        "environment",
        "release",
        "index",
        "hsts",
        "robots",
        "from",
        "scheme",
        "inner",
        "key",
        "target",
    ),
    *("parent", "peer", "signature", "login", "warm", "refresh", "missing", "rewritten", "vitals"),
    *("protected", "function"),
)
"""The nginx variables that Lua sets."""
TEXT_TYPES = (
    "text/plain text/css text/csv text/xml text/markdown text/javascript application/javascript"
    " application/json application/xml application/manifest+json application/rss+xml application/atom+xml"
    " image/svg+xml"
)
BURST_SECONDS = 5
"""An address may send the requests of so many seconds at once."""
FIREWALL_MODES = ("on", "detection", "off")
TEMPORARY_PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
RESPONSE_HEADERS = """\
            proxy_hide_header X-Stead-Verdict;
            proxy_hide_header Cache-Tag;
            add_header Strict-Transport-Security $stead_hsts always;
            add_header X-Robots-Tag $stead_robots always;
            add_header X-Trace-Id $stead_trace always;
            add_header Server-Timing "trace;desc=$stead_trace" always;
"""

_BLOCK = re.compile(r"^{{(\w+)}}\n", re.MULTILINE)
_WORD = re.compile(r"{{(\w+)}}")


def render(template: str, **values: object) -> str:
    """`{{name}}` stands for a value. Alone on a line it stands for whole lines, or for none."""
    text = (TEMPLATES / f"{template}.conf").read_text()
    for placeholder in (_BLOCK, _WORD):
        text = placeholder.sub(lambda found: str(values[found[1]]), text)
    return text


def configuration(settings: EdgeSettings) -> str:
    memory = settings.memory
    return render(
        "nginx",
        modules=_modules(settings),
        user=_optional_line("user", settings.user, indent=""),
        workers=settings.workers or "auto",
        connections=settings.connections,
        open_files=settings.connections * 4,
        run=settings.run,
        data=settings.data,
        text_types=TEXT_TYPES,
        temporary_paths="".join(
            f"    {kind}_temp_path {settings.run}/temporary/{kind};\n" for kind in TEMPORARY_PATHS
        ),
        firewall=_firewall(settings),
        resolver=_optional_line("resolver", settings.resolver and f"{settings.resolver} valid=30s"),
        lua=settings.lua,
        vitals_script=VITALS_SCRIPT,
        **{f"memory_{name}": getattr(memory, name) for name in memory.__struct_fields__},
        node_id=settings.node_id,
        https_port=settings.https_port,
        address_rate=settings.address_rate,
        address_connections=settings.address_connections,
        has_firewall="true" if settings.firewall else "false",
        has_preview_certificate="true" if settings.preview_certificate else "false",
        maps=f"{render('maps', personal_headers=headers.join_personal_headers())}\n",
        ledger_format=LEDGER_FORMAT,
        cache=settings.cache,
        upstreams=f"{_upstreams(settings)}\n",
        servers=_servers(settings),
    )


def _modules(settings: EdgeSettings) -> str:
    names = ["ndk_http_module", "ngx_http_lua_module", "ngx_http_brotli_static_module"]
    if settings.firewall:
        names.append("ngx_http_modsecurity_module")
    return "".join(f"load_module {settings.modules}/{name}.so;\n" for name in names)


def _optional_line(directive: str, value: str, *, indent: str = "    ") -> str:
    return f"{indent}{directive} {value};\n" if value else "\n"


def _firewall(settings: EdgeSettings) -> str:
    if not settings.firewall:
        return "\n"
    return f"    modsecurity off;\n    modsecurity_rules_file {settings.run}/firewall.conf;\n"


def _modes(settings: EdgeSettings) -> tuple[str, ...]:
    return FIREWALL_MODES if settings.firewall else ("off",)


def _upstreams(settings: EdgeSettings) -> str:
    sockets = {f"inner_{mode}": f"inner-{mode}" for mode in _modes(settings)}
    return "".join(
        f"    upstream {name} {{ server unix:{settings.run}/{socket}.sock; keepalive 32; }}\n"
        for name, socket in sockets.items()
    )


def _servers(settings: EdgeSettings) -> str:
    servers = [_visitors(settings, "http")]
    if settings.https:
        servers.append(_visitors(settings, "https"))
    servers += [_inner(settings, mode) for mode in _modes(settings)]
    return "".join([*servers, _admin(settings)])


def _visitors(settings: EdgeSettings, scheme: str) -> str:
    secure = scheme == "https"
    return render(
        "visitors",
        listen=_listen_tls(settings) if secure else _listen_plain(settings),
        tls=_tls(settings) if secure else "",
        scheme=scheme,
        data=settings.data,
        ledger_file=settings.ledger_file,
        security_headers=headers.add_security_headers(),
        steering_headers=headers.STEERING,
        request_headers=headers.set_request_headers({}),
        function_request_headers=headers.set_request_headers(headers.FUNCTION_REQUEST),
        cached_request_headers=headers.set_request_headers(headers.CACHED_REQUEST),
        peer_request_headers=headers.set_request_headers(headers.PEER_REQUEST),
        response_headers=RESPONSE_HEADERS,
        **_limits(settings),
    )


def _tls(settings: EdgeSettings) -> str:
    """nginx needs a certificate to start. If there is one for all hosts of the preview domain, permanent
    hosts use it; other names get their own, or no handshake."""
    return render(
        "tls",
        certificate=settings.preview_certificate or f"{settings.run}/nobody.crt",
        key=settings.preview_key or f"{settings.run}/nobody.key",
    )


def _listen_plain(settings: EdgeSettings) -> str:
    """On the addresses for visitors, and on the socket for the node's probes."""
    return _listen(settings.http, "") + f"        listen unix:{settings.run}/private/probe.sock;\n"


def _listen_tls(settings: EdgeSettings) -> str:
    return _listen(settings.https, " ssl http2")


def _listen(addresses: tuple[str, ...], options: str) -> str:
    return "".join(
        f"        listen {address} default_server backlog=4096{options};\n" for address in addresses
    )


def _inner(settings: EdgeSettings, mode: str) -> str:
    return render(
        "inner",
        run=settings.run,
        data=settings.data,
        mode=mode,
        firewall=_inner_firewall(settings, mode),
        fastcgi=_fastcgi(settings, "" if mode == "off" else "pass"),
        modsecurity_off="modsecurity off; " if settings.firewall else "",
        **_limits(settings),
    )


def _limits(settings: EdgeSettings) -> dict[str, int]:
    return {
        "address_at_once": settings.address_at_once,
        "address_burst": BURST_SECONDS * settings.address_rate,
    }


def _inner_firewall(settings: EdgeSettings, mode: str) -> str:
    if mode == "off":
        return ""
    after_denial = (
        'add_header X-Stead-Verdict blocked always; content_by_lua_block { answer.page("blocked") }'
        if mode == "on"
        else f"\n{_fastcgi(settings, 'detected')}        "
    )
    return render("inner_firewall", denied=DENIED_STATUS, after_denial=after_denial)


def _fastcgi(settings: EdgeSettings, verdict: str) -> str:
    """Run an existing script, else the index of an existing directory, else the front controller."""
    return render(
        "fastcgi",
        data=settings.data,
        verdict_header=f"            add_header X-Stead-Verdict {verdict} always;\n" if verdict else "",
        parameters=headers.set_fastcgi_parameters(),
        steering_headers=headers.STEERING,
    )


def _admin(settings: EdgeSettings) -> str:
    # The variables are declared in this server, which only the feed uses, because nginx sets the variables of
    # a server for each of its requests.
    variables = "".join(f'        set $stead_{name} "";\n' for name in VARIABLES)
    return render("admin", admin_socket=settings.admin_socket, variables=variables)
