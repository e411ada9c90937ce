"""nginx's configuration. Nothing in it names a host: it is written once for a node and stays.

Two tiers. The outer one takes visitors: it decides, serves files and cached pages, and passes on the rest.
The inner one is reached over sockets, one for each mode of the firewall; what it lets through goes to
FastCGI.
"""

from stead.edge.firewall import DENIED
from stead.edge.settings import EdgeSettings

LEDGER = (
    '{"ts":$msec,"site":"$stead_site","environment":"$stead_environment","release":"$stead_release",'
    '"host":"$host","method":"$request_method","path":"$stead_path","status":$status,'
    '"bytes_in":$request_length,"bytes_out":$bytes_sent,"time":$request_time,'
    '"upstream_time":"$upstream_response_time","cache":"$upstream_cache_status","waf":"$stead_verdict",'
    '"trace":"$stead_trace","address":"$stead_network","tls":"$ssl_protocol","agent":"$stead_agent",'
    '"peer":"$stead_peer"}'
)

VARIABLES = (
    "made",
    "site",
    "environment",
    "release",
    "index",
    "hsts",
    "from",
    "scheme",
    "inner",
    "key",
    "target",
    "parent",
    "peer",
    "login",
)

TEXT = (
    "text/plain text/css text/xml text/markdown text/javascript application/javascript application/json"
    " application/xml application/manifest+json application/rss+xml application/atom+xml image/svg+xml"
)

MODES = ("on", "detection", "off")

TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")

SECURITY_HEADERS = """\
        add_header X-Content-Type-Options nosniff always;
        add_header X-Frame-Options SAMEORIGIN always;
        add_header Referrer-Policy strict-origin-when-cross-origin always;
        add_header Strict-Transport-Security $stead_hsts always;
        add_header X-Trace-Id $stead_trace always;
"""

# Nothing that a visitor says about the way he came, or that some frameworks obey, reaches an application.
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
    "X-Stead-Key",
    "X-Stead-Verdict",
)

# Of the headers with which an application can steer nginx, none is obeyed.
STEERING = "X-Accel-Redirect X-Accel-Limit-Rate X-Accel-Buffering X-Accel-Charset"


def configuration(settings: EdgeSettings) -> str:
    run = settings.run
    servers = [_visitors(settings, secure=False)]
    if settings.https:
        servers.append(_visitors(settings, secure=True))
    servers += [_inner(settings, mode) for mode in _modes(settings)]
    servers.append(_admin(settings))
    return f"""{_modules(settings)}
{f"user {settings.user};" if settings.user else ""}
daemon off;
worker_processes {settings.workers or "auto"};
worker_rlimit_nofile {settings.connections * 4};
worker_shutdown_timeout 30s;
pid {run}/nginx.pid;
error_log stderr warn;
pcre_jit on;
events {{ worker_connections {settings.connections}; multi_accept on; }}
http {{
{_general(settings)}
{_lua(settings)}
{_maps()}
    log_format ledger escape=json '{LEDGER}';
    proxy_cache_path {run}/pages levels=1:2 keys_zone=cached:32m max_size={settings.cache}m inactive=31d
        use_temp_path=off;
{_upstreams(settings)}
{"".join(servers)}}}
"""


def _modes(settings: EdgeSettings) -> tuple[str, ...]:
    return MODES if settings.firewall else ("off",)


def _modules(settings: EdgeSettings) -> str:
    names = ["ndk_http_module", "ngx_http_lua_module", "ngx_http_brotli_static_module"]
    if settings.firewall:
        names.append("ngx_http_modsecurity_module")
    return "\n".join(f"load_module {settings.modules}/{name}.so;" for name in names)


def _general(settings: EdgeSettings) -> str:
    temporary = "\n".join(f"    {kind}_temp_path {settings.run}/temporary/{kind};" for kind in TEMPORARY)
    firewall = (
        f"    modsecurity off;\n    modsecurity_rules_file {settings.run}/firewall.conf;"
        if settings.firewall
        else ""
    )
    resolver = f"    resolver {settings.resolver} valid=30s;" if settings.resolver else ""
    return f"""    include /etc/nginx/mime.types;
    types {{
        application/manifest+json webmanifest;
        text/javascript mjs;
        text/markdown md;
        application/json map;
    }}
    default_type application/octet-stream;
    charset utf-8;
    charset_types {TEXT};
    access_log off;
    server_tokens off;
    sendfile on;
    tcp_nopush on;
    absolute_redirect off;
    keepalive_timeout 60s;
    keepalive_requests 100000;
    client_header_timeout 10s;
    client_body_timeout 15s;
    send_timeout 30s;
    reset_timedout_connection on;
    large_client_header_buffers 4 16k;
    gzip on;
    gzip_comp_level 4;
    gzip_min_length 1024;
    gzip_vary on;
    gzip_proxied any;
    gzip_types {TEXT} application/wasm;
    # A release is never rewritten, so what was once found stays right.
    open_file_cache max=50000 inactive=60s;
    open_file_cache_valid 5s;
    open_file_cache_errors on;
    uninitialized_variable_warn off;
    variables_hash_max_size 2048;
    variables_hash_bucket_size 128;
    proxy_headers_hash_max_size 2048;
    proxy_headers_hash_bucket_size 128;
{temporary}
{firewall}
{resolver}"""


def _lua(settings: EdgeSettings) -> str:
    memory = settings.memory
    return f"""    lua_package_path "{settings.lua}/?.lua;/usr/share/lua/5.1/?.lua;;";
    lua_shared_dict state 1m;
    lua_shared_dict records {memory.records}m;
    lua_shared_dict redirects {memory.redirects}m;
    lua_shared_dict certificates {memory.certificates}m;
    lua_shared_dict purges {memory.purges}m;
    lua_shared_dict pages {memory.pages}m;
    lua_shared_dict lockout {memory.lockout}m;
    lua_shared_dict misses {memory.misses}m;
    lua_socket_log_errors off;
    init_by_lua_block {{
        require "resty.core"
        local node = require "stead.node"
        node.set {{ id = "{settings.node_id}", run = "{settings.run}", secure_port = {settings.https_port},
            firewall = {"true" if settings.firewall else "false"} }}
        node.name_memory()
        route, origin, answer = require "stead.route", require "stead.origin", require "stead.answer"
        admin, tls = require "stead.admin", require "stead.tls"
    }}
    init_worker_by_lua_block {{
        local node = require "stead.node"
        node.die_with_master()
        node.seed()
    }}
    exit_worker_by_lua_block {{ require("stead.node").take_along() }}"""


def _maps() -> str:
    return r"""    map $stead_made $stead_fresh { "" $request_id; default $stead_made; }
    map $http_traceparent $stead_trace {
        "" $stead_fresh;
        "~^00-0{32}-" $stead_fresh;
        "~^00-[0-9a-f]{32}-0{16}-" $stead_fresh;
        "~^00-(?<stead_given_trace>[0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$" $stead_given_trace;
        default $stead_fresh;
    }
    map $stead_fresh $stead_span { "~^.{8}(?<stead_given_span>.{16})" $stead_given_span; }
    map $stead_parent $stead_traceparent { "" "00-$stead_trace-$stead_span-00"; default $stead_parent; }
    map $stead_from $stead_visitor { "" $remote_addr; default $stead_from; }
    map $stead_visitor $stead_network {
        "~^(?<stead_v4>\d+\.\d+\.\d+)\." "$stead_v4.0";
        "~^(?<stead_v6>[0-9a-f]+:[0-9a-f]+:[0-9a-f]+):" "$stead_v6::";
        "~^(?<stead_v6>[0-9a-f]+:[0-9a-f]+)::" "$stead_v6::";
        "~^(?<stead_v6>[0-9a-f]+)::" "$stead_v6::";
        default "::";
    }
    map $http_authorization$http_origin$http_x_wp_nonce$http_upgrade $stead_special_word { "" ""; default 1; }
    map $stead_special_word$http_content_length$http_transfer_encoding $stead_special { "" ""; default 1; }
    map $stead_special$http_cookie $stead_personal { "" ""; default 1; }
    map $stead_scheme $stead_seen_scheme { "" $scheme; default $stead_scheme; }
    map $stead_seen_scheme $stead_https { https on; default ""; }
    map $request_uri $stead_path { "~^(?<stead_bounded_path>[^?]{0,1024})" $stead_bounded_path; }
    map $http_user_agent $stead_agent {
        "~^(?<stead_bounded_agent>.{256})" $stead_bounded_agent;
        default $http_user_agent;
    }
    # The verdict on the visit that filled the cache says nothing about this one.
    map $upstream_cache_status $stead_verdict {
        HIT ""; STALE ""; UPDATING ""; REVALIDATED "";
        default $upstream_http_x_stead_verdict;
    }
    map $uri $stead_script {
        "~^(?<stead_script_name>.+?\.php)(?<stead_path_info>/.*)?$" $stead_script_name;
        default "/.none";
    }
    map $uri $stead_directory {
        "~^(?<stead_directory_name>.*/)$" "${stead_directory_name}index.php";
        default "/.none";
    }
    map $http_x_stead_scheme $stead_inner_https { https on; default ""; }
"""


def _upstreams(settings: EdgeSettings) -> str:
    inner = "".join(
        f"    upstream inner_{mode} {{ server unix:{settings.run}/inner-{mode}.sock; keepalive 32; }}\n"
        for mode in _modes(settings)
    )
    return inner + f"    upstream functions {{ server unix:{settings.run}/functions.sock; keepalive 32; }}\n"


def _listen(addresses: tuple[str, ...], words: str) -> str:
    return "\n".join(f"        listen {address} default_server backlog=4096{words};" for address in addresses)


def _tls(settings: EdgeSettings) -> str:
    return f"""        ssl_certificate {settings.run}/nobody.crt;
        ssl_certificate_key {settings.run}/nobody.key;
        ssl_certificate_by_lua_block {{ tls.serve() }}
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_ciphers ECDHE+AESGCM:ECDHE+CHACHA20;
        ssl_prefer_server_ciphers off;
        ssl_session_cache shared:tls:16m;
        ssl_session_timeout 1d;
        ssl_session_tickets on;
        ssl_buffer_size 8k;
"""


def _visitors(settings: EdgeSettings, *, secure: bool) -> str:
    way = "https" if secure else "http"
    addresses, words = (settings.https, " ssl http2") if secure else (settings.http, "")
    door = "" if secure else f"\n        listen unix:{settings.run}/private/probe.sock;"
    releases = f"{settings.data}/releases/$stead_release"
    return f"""    server {{
{_listen(addresses, words)}{door}
        server_name "";
{_tls(settings) if secure else ""}        access_log {settings.ledger_file} ledger buffer=64k flush=1s;
        client_max_body_size 128m;
        root {releases};
        disable_symlinks on;
{SECURITY_HEADERS}
        error_page 404 @notfound;
        error_page 403 =404 @notfound;
        error_page 405 413 416 500 @refused;
        error_page 502 503 504 @unreachable;
        location / {{
            rewrite_by_lua_block {{ route.{way}() }}
            add_header Cache-Control "public, max-age=0, must-revalidate";
{SECURITY_HEADERS}            gzip_static on;
            brotli_static on;
            try_files $uri$stead_index $uri.html @missing;
        }}
        location ^~ /_fn/ {{ rewrite_by_lua_block {{ route.{way}_function() }} }}
        location ^~ /.well-known/acme-challenge/ {{ content_by_lua_block {{ route.challenge() }} }}
        location @missing {{ rewrite_by_lua_block {{ route.missing() }} }}
        location @notfound {{ try_files /404.html @nothing; }}
        location @nothing {{ content_by_lua_block {{ route.nothing() }} }}
        location @refused {{ content_by_lua_block {{ answer.status() }} }}
        location @unreachable {{ content_by_lua_block {{ answer.status() }} }}
        location @nonode {{ content_by_lua_block {{ answer.page("node_unreachable") }} }}
        location @assets {{
            root {settings.data}/environments/$stead_environment/current;
            # What an application links to must at least be its own.
            disable_symlinks if_not_owner from=$document_root;
            open_file_cache off;
            add_header X-Trace-Id $stead_trace always;
            add_header X-Content-Type-Options nosniff always;
            add_header Strict-Transport-Security $stead_hsts always;
            try_files $uri @dynamic;
        }}
{_applications()}    }}
"""


def _sent(names: dict[str, str]) -> str:
    """Request headers for whoever stands behind us; an empty one is not sent at all."""
    common = {
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
    }
    every = dict.fromkeys(DISTRUSTED, '""') | common | {"X-Stead-Scheme": "$stead_seen_scheme"} | names
    return "".join(f"            proxy_set_header {name} {value};\n" for name, value in every.items())


def _applications() -> str:
    behind = f"""            proxy_http_version 1.1;
            proxy_read_timeout 310s;
            proxy_ignore_headers {STEERING}"""
    shown = """            proxy_hide_header X-Stead-Verdict;
            proxy_hide_header Cache-Tag;
            add_header Strict-Transport-Security $stead_hsts always;
            add_header X-Trace-Id $stead_trace always;
"""
    return f"""        location @cached {{
            proxy_pass http://inner_$stead_inner$stead_target;
{behind} Cache-Control Expires Vary;
            proxy_pass_request_headers off;
            proxy_pass_request_body off;
{
        _sent(
            {
                "X-Stead-Key": "$stead_key",
                "User-Agent": "$http_user_agent",
                "Accept": "$http_accept",
                "Accept-Language": "$http_accept_language",
            }
        )
    }            proxy_cache cached;
            proxy_cache_key $stead_key;
            proxy_cache_lock on;
            proxy_cache_lock_timeout 15s;
            proxy_cache_lock_age 15s;
            proxy_cache_use_stale error timeout updating http_500 http_502 http_503 http_504;
{shown}            add_header X-Cache $upstream_cache_status always;
        }}
        location @dynamic {{
            proxy_pass http://inner_$stead_inner;
{behind} X-Accel-Expires;
            proxy_request_buffering off;
{_sent({})}            header_filter_by_lua_block {{ origin.signed_in() }}
{shown}            add_header X-Cache BYPASS always;
        }}
        location @functions {{
            proxy_pass http://functions;
{behind} X-Accel-Expires;
{_sent({})}{shown}        }}
        location @peer {{
            proxy_pass http://$stead_peer;
{behind} X-Accel-Expires;
            proxy_connect_timeout 3s;
            proxy_request_buffering off;
            error_page 502 504 @nonode;
{
        _sent({"X-Stead-Hop": "1", "Accept-Encoding": "$http_accept_encoding"})
    }            proxy_pass_header X-Accel-Expires;
        }}
"""


PARAMETERS = {
    "QUERY_STRING": "$query_string",
    "REQUEST_METHOD": "$request_method",
    "CONTENT_TYPE": "$content_type",
    "CONTENT_LENGTH": "$content_length",
    "SCRIPT_NAME": "$fastcgi_script_name",
    "SCRIPT_FILENAME": "$document_root$fastcgi_script_name",
    "PATH_INFO": "$stead_path_info",
    "REQUEST_URI": "$request_uri",
    "DOCUMENT_URI": "$document_uri",
    "DOCUMENT_ROOT": "$document_root",
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


def _fastcgi(settings: EdgeSettings, verdict: str) -> str:
    """An existing script, else the index of an existing directory, else the front controller."""
    parameters = "".join(f"            fastcgi_param {name} {value};\n" for name, value in PARAMETERS.items())
    socket = f"{settings.data}/environments/$http_x_stead_environment/run/fpm.sock"
    said = f"            add_header X-Stead-Verdict {verdict} always;\n" if verdict else ""
    return f"""{said}            try_files $stead_script $stead_directory /index.php =404;
            fastcgi_pass unix:{socket};
{parameters}            fastcgi_ignore_headers {STEERING} X-Accel-Expires;
            fastcgi_param HTTP_X_STEAD_KEY "";
            fastcgi_hide_header X-Stead-Verdict;
            fastcgi_hide_header X-Stead-Reason;
            fastcgi_read_timeout 300s;
            fastcgi_buffers 16 16k;
            fastcgi_buffer_size 32k;
"""


def _inner(settings: EdgeSettings, mode: str) -> str:
    if mode == "off":
        firewall, verdict = "", ""
    else:
        verdict = "pass"
        after = (
            'add_header X-Stead-Verdict blocked always; content_by_lua_block { answer.page("blocked") }'
            if mode == "on"
            else f"\n{_fastcgi(settings, 'detected')}        "
        )
        firewall = f"""        modsecurity on;
        modsecurity_transaction_id $http_traceparent;
        error_page {DENIED} = @denied;
        location @denied {{ modsecurity off; {after} }}
"""
    return f"""    server {{
        listen unix:{settings.run}/inner-{mode}.sock;
        server_name "";
        set_real_ip_from unix:;
        real_ip_header X-Stead-Visitor;
        root {settings.data}/environments/$http_x_stead_environment/current;
        open_file_cache off;
        gzip off;
        client_max_body_size 128m;
        error_page 502 503 504 @broken;
        header_filter_by_lua_block {{ origin.fetched() }}
{firewall}        location / {{
{_fastcgi(settings, verdict)}        }}
        location @broken {{ modsecurity_off_here content_by_lua_block {{ answer.status() }} }}
    }}
""".replace("modsecurity_off_here ", "modsecurity off; " if settings.firewall else "")


def _admin(settings: EdgeSettings) -> str:
    # They are named here, where only the feed comes, so that no visitor pays for setting them.
    variables = "".join(f'        set $stead_{name} "";\n' for name in VARIABLES)
    return f"""    server {{
        listen unix:{settings.admin_socket};
        server_name "";
{variables}        client_max_body_size 64m;
        client_body_buffer_size 8m;
        keepalive_requests 1000000000;
        keepalive_timeout 1h;
        location / {{ content_by_lua_block {{ admin.serve() }} }}
    }}
"""
