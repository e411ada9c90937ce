-- Decides how a request is answered.
local access = require "stead.access"
local addresses = require "stead.addresses"
local answer = require "stead.answer"
local cache_rules = require "stead.cache_rules"
local hop = require "stead.hop"
local listed_networks = require "stead.listed_networks"
local lines = require "stead.lines"
local lockout = require "stead.lockout"
local node = require "stead.node"
local origin = require "stead.origin"
local pagecache = require "stead.pagecache"
local partner = require "stead.partner"
local records = require "stead.records"
local redirects = require "stead.redirects"
local room = require "stead.room"
local rule_files = require "stead.rule_files"
local site_rules = require "stead.site_rules"
local store = require "stead.store"
local trace = require "stead.trace"

local ngx, var = ngx, ngx.var
local byte, find, sub, gsub, lower = string.byte, string.find, string.sub, string.gsub, string.lower
local view_of, is_peer = records.view, records.is_peer
local pages, function_requests = ngx.shared.pages, ngx.shared.function_requests

local M = {}
local SLASH, DOT = 47, 46
-- The remote address of the node's probes, which come through a private socket.
local PROBE = "unix:"
local MAX_EXTENSION = 5
local ASSETS = {}
for extension in ([[css js mjs map json png jpg jpeg gif webp avif svg ico bmp woff woff2 ttf otf eot mp3 mp4 m4a ogg
  webm pdf txt zip gz wasm]]):gmatch "%w+" do
  ASSETS[extension] = true
end
local READS = { GET = true, HEAD = true }

-- The view of the wildcard that the host is below, if there is one. A wildcard that is not in memory is looked up too.
local function look_up_wildcard(wildcard)
  local view, known = view_of(wildcard)
  if not view and not known and store.ask("host", wildcard) == "found" then
    view = view_of(wildcard)
  end
  return view
end

-- The host is not in shared memory: look it up in the node's store, unless it is known not to exist. A host of its own
-- comes before a wildcard, so the store is asked first, unless memory has every host.
local function look_up(host, known)
  local wildcard = not records.is_host(host) and records.wildcard_of(host)
  local view = wildcard and (known or records.has_all_hosts()) and view_of(wildcard)
  if view then
    return view
  end
  local address = var.remote_addr
  local visitor = address ~= PROBE and not is_peer(address) and address or nil
  local result = (known or host == "") and "unknown" or store.ask("host", host, visitor)
  if result == "unknown" and wildcard then
    view = look_up_wildcard(wildcard)
    if view then
      return view
    end
  elseif result == "unreachable" and wildcard and view_of(wildcard) then
    -- It may have a host of its own that does not fit in memory.
    return answer.page("starting")
  end
  if result == "found" then
    view = view_of(host)
    if view then
      return view
    end
    return answer.page("unreleased", "the environment of this host is not known yet")
  elseif result == "unreachable" and (not records.complete() or records.is_permanent(host)) then
    return answer.page("starting")
  end
  return answer.page("unknown_host")
end

local function is_hidden(uri)
  return find(gsub(uri, "^/%.well%-known/", "/"), "/.", 1, true) ~= nil
end

-- Headers of another edge are trusted only if they come from the address of an edge and are signed. Returns whether the
-- request was forwarded, whether the visitor reached the other edge over TLS, and whether the headers are trusted.
local function forwarded()
  if not var.http_x_stead_hop then
    return false, false, false
  end
  local visitor, scheme = var.http_x_stead_visitor, var.http_x_stead_scheme
  if not (visitor and scheme and addresses.parse(visitor)) or not is_peer(var.remote_addr)
    or not hop.verify(var.http_x_stead_signature, visitor, scheme) then
    return true, false, false
  end
  var.stead_from = visitor
  local secure = scheme == "https"
  if secure then
    var.stead_scheme = "https"
  end
  return true, secure, true
end

local function redirect_to_tls(host)
  local port = node.secure_port == 443 and "" or ":" .. node.secure_port
  local target = var.request_uri
  if byte(target) ~= SLASH then
    target = "/"
  end
  return ngx.redirect("https://" .. host .. port .. target, READS[ngx.req.get_method()] and 301 or 308)
end

-- To the primary domain. It redirects to HTTPS itself if it has a certificate.
local function redirect_to_primary(host)
  local port = (var.http_host or ""):match ":%d+$" or ""
  local target = var.request_uri
  if byte(target) ~= SLASH then
    target = "/"
  end
  local url = var.stead_seen_scheme .. "://" .. host .. port .. target
  return ngx.redirect(url, READS[ngx.req.get_method()] and 301 or 308)
end

local function escape_percent(rest)
  return rest and gsub(rest, "%%", "%%25")
end

local function find_redirect(view, uri)
  local to, code, rest = redirects.find(records.rule, view.rules, view.lengths, uri)
  if to then
    rest = escape_percent(rest)
  else
    local raw = var.request_uri:match "^[^?]*"
    if raw == uri then
      return nil
    end
    to, code, rest = redirects.find(records.rule, view.rules, view.lengths, raw)
    if not to then
      return nil
    end
  end
  return redirects.location(to, rest, var.args), code
end

local function begin_trace(view)
  var.stead_parent = trace.parent(var.http_traceparent, var.stead_fresh, view.sample_rate, math.random())
end

-- Whether the response may be shared between visitors. `stead_personal` joins all headers that could identify a
-- visitor; usually it is empty.
local function is_shareable()
  if not READS[ngx.req.get_method()] then
    return false
  elseif var.stead_personal == "" then
    return true
  end
  return var.stead_special == "" and pagecache.harmless_cookies(var.http_cookie or "")
end

-- Whether the path is a file that is served without the application. It compares bytes, because LuaJIT cannot compile
-- string patterns.
local function is_asset(uri)
  local size = #uri
  for at = size, size > MAX_EXTENSION and size - MAX_EXTENSION or 1, -1 do
    if byte(uri, at) == DOT then
      return ASSETS[lower(sub(uri, at + 1))] and READS[ngx.req.get_method()] and not is_hidden(uri)
    end
  end
  return false
end

-- Whether the page may be in the cache. Not asked for pages that are.
local function is_cacheable(environment, uri, target)
  if pagecache.rule(uri, target) == "bypass" then
    return false
  end
  local variants = pagecache.variants(environment, target)
  return not variants or (pages:get(variants) or 0) < cache_rules.MAX_VARIANTS
end

local function serve_application(view, host, uri, scheme)
  var.stead_inner = node.firewall and view.waf or "off"
  if is_asset(uri) then
    begin_trace(view)
    return ngx.exec("@assets")
  elseif view.login_lockout and lockout.is_login(uri) then
    if lockout.locked(view.environment, var.stead_visitor) then
      return answer.page("locked_out")
    elseif ngx.req.get_method() == "POST" then
      var.stead_login = "1"
    end
  elseif view.ttl > 0 and is_shareable() then
    local target = pagecache.target(var.request_uri)
    if #target <= pagecache.MAX_TARGET then
      local page = pagecache.page(view.environment, view.release, scheme, host, target)
      local known = pages:get(page)
      if known and known ~= origin.PASS or not known and is_cacheable(view.environment, uri, target) then
        local since
        local purged = records.purged("s:" .. view.environment) or 0
        if known and var.stead_refresh ~= "1" then
          local at, tags = lines.split(known)
          if purged <= at or pagecache.fresh(records.purged, view.environment, target, tags, at) then
            since = at
          end
        end
        if since or room.available(view.environment) then
          if not since then
            since = purged
            begin_trace(view)
          end
          var.stead_key = pagecache.key(node.instance, since, page)
          var.stead_target = target
          return ngx.exec("@cached")
        end
      end
    end
  end
  if var.stead_warm == "1" then
    -- Nothing to keep warm.
    return ngx.exit(204)
  end
  begin_trace(view)
  return ngx.exec("@dynamic")
end

-- An edge that has forwarded the visitor has checked this.
local function require_partner(view)
  local visitor = partner.visitor(view.partner, var.http_x_waf_partner_id, var.http_x_waf_partner_key,
    var.http_x_forwarded_for)
  if not visitor then
    return answer.page("not_through_partner")
  elseif visitor ~= "" then
    var.stead_from = visitor
  end
end

local function refuse_listed()
  local from = var.stead_from
  local address = from and from ~= "" and addresses.parse(from) or var.binary_remote_addr
  if listed_networks.contains(address) then
    return answer.page("listed")
  end
end

-- The checks before the site itself answers. `answer.page`, `ngx.exec` and `ngx.redirect` do not return.
local function check(view, uri, was_forwarded, is_trusted)
  local probed = var.remote_addr == PROBE
  if view.partner and not is_trusted and not probed then
    require_partner(view)
  end
  if not view.here then
    if was_forwarded then
      return answer.page("loop", "another edge says that it is carried here")
    end
    local peer = records.peer(view.node or "")
    if not peer then
      return answer.page("node_unreachable", "the node that carries it is not known")
    end
    var.stead_peer = peer
    var.stead_signature = hop.sign(view.node, var.stead_visitor, var.stead_seen_scheme)
    begin_trace(view)
    return ngx.exec("@peer")
  end
  if view.state == "suspended" then
    return answer.page("suspended", view.reason)
  elseif view.state ~= "serving" then
    return answer.page("unreleased", view.reason)
  end
  if view.refuse_listed and listed_networks.count > 0 and not probed then
    refuse_listed()
  end
  if view.allowed and not probed and not addresses.contains(view.allowed, var.stead_visitor) then
    return answer.page("not_allowed")
  end
  if view.protection and not probed then
    access.require(view, var.host, uri)
  end
  if view.quarantined and view.quarantined[uri] then
    return answer.page("quarantined")
  end
  if view.rules then
    local location, code = find_redirect(view, uri)
    if location then
      return ngx.redirect(location, code)
    end
  end
end

-- Selects a release that no record names yet. Only the node's probes may do this.
local function select_release(release)
  if release and #release == 64 and not find(release, "[^0-9a-f]") then
    var.stead_release = release
  end
end

-- The node keeps a page warm: `https` fetches it if it is not in the cache, `https refresh` in any case.
local function warm(wanted)
  local scheme, refresh = (wanted or ""):match "^(https?)( ?%a*)$"
  if scheme then
    var.stead_scheme, var.stead_warm = scheme, "1"
    var.stead_refresh = refresh == " refresh" and "1" or ""
  end
end

local function prepare(host, secure)
  local view, known = view_of(host)
  if not view then
    view = look_up(host, known)
  end
  var.stead_made = node.new_trace()
  var.stead_site = view.site
  var.stead_environment = view.environment
  var.stead_release = view.release
  local probed = var.remote_addr == PROBE
  if probed then
    select_release(var.http_x_stead_release)
    warm(var.http_x_stead_warm)
  end
  if view.noindex and view.here then
    var.stead_robots = "noindex, nofollow"
  end
  local was_forwarded, by_tls, is_trusted = forwarded()
  if secure or by_tls then
    if view.hsts and view.here then
      var.stead_hsts = view.hsts
    end
  elseif view.https and not probed then
    redirect_to_tls(host)
  end
  if view.redirect_to and not probed then
    redirect_to_primary(view.redirect_to)
  end
  return view, was_forwarded, is_trusted
end

local function find_function(view, uri)
  for _, each in ipairs(view.functions or {}) do
    if uri == each.path or sub(uri, 1, #each.below) == each.below then
      return each
    end
  end
end

-- The limits of the function are those of its owner, so they are checked before anything of it runs.
local function serve_function(view, found)
  begin_trace(view)
  var.stead_function = found.socket
  if (tonumber(var.http_content_length) or 0) > found.bytes then
    return answer.page("too_large")
  end
  local now = ngx.time()
  local count = function_requests:incr(found.socket .. ":" .. now, 1, 0, 2)
  if count and count > found.rate then
    return answer.page("function_rate_limit")
  end
  return ngx.exec("@functions")
end

local function query_args()
  return ngx.req.get_uri_args(100)
end

-- Answers as a redirect of the release says. Rules are applied once: what a rewrite leads to is a file, or missing.
local function follow(rule, captures, uri)
  local status = rule.status
  if status >= 300 and status < 400 then
    local location = site_rules.location(rule.to, captures, var.args)
    if location:match "^[^?]*" ~= var.request_uri:match "^[^?]*" then
      if not ngx.header["Cache-Control"] then
        ngx.header["Cache-Control"] = "public, max-age=0, must-revalidate"
      end
      return ngx.redirect(location, status)
    end
    return
  end
  local target = site_rules.target(rule.to, captures)
  if not target or not READS[ngx.req.get_method()] then
    return
  elseif status ~= 200 then
    -- The page is shown without another look at its path.
    var.stead_missing = not is_hidden(target) and not site_rules.FILES[target] and target or ""
    return ngx.exit(status)
  elseif target ~= uri then
    var.stead_rewritten = "1"
    return ngx.exec(target, var.args)
  end
end

local ASSOCIATION = { ["/apple-app-site-association"] = true, ["/.well-known/apple-app-site-association"] = true }

local function set_headers(decision)
  local header, list = ngx.header, decision.headers
  for at = 1, #list, 2 do
    header[list[at]] = list[at + 1]
  end
  return decision.shared
end

-- The headers of the environment come after those of its release.
local function set_own_headers(decision, is_shared)
  local header, removed = ngx.header, decision.removed
  for at = 1, #removed do
    header[removed[at]] = nil
    is_shared = is_shared and removed[at] ~= "access-control-allow-origin"
  end
  return set_headers(decision) or is_shared
end

local function answer_preflight()
  if ngx.req.get_method() == "OPTIONS" and var.http_access_control_request_method then
    ngx.header["Allow"] = "GET, HEAD, OPTIONS"
    ngx.status = 204
    return ngx.exit(204)
  end
end

-- What the files of the release and the settings of the environment say about a request that comes before files.
local function apply_site_rules(view, uri)
  if site_rules.FILES[uri] then
    return ngx.exit(404)
  elseif ASSOCIATION[uri] then
    ngx.header["Content-Type"] = "application/json"
  end
  if var.stead_rewritten == "1" then
    return
  end
  local rules = rule_files.of(var.stead_release, node.rules, view.site)
  if rules == nil then
    return answer.page("busy")
  elseif not rules and not view.headers then
    return
  end
  local is_set, is_shared, decision, rule, captures = false, false, nil, nil, nil
  if rules then
    decision, rule, captures = site_rules.decide(rules, uri, query_args)
    if decision.headers then
      is_set, is_shared = true, set_headers(decision)
    end
  end
  if view.headers then
    decision = site_rules.decide_settings(view.headers, uri)
    if decision.headers then
      is_set, is_shared = true, set_own_headers(decision, is_shared)
    end
  end
  if is_set then
    if view.protection then
      access.forbid_sharing()
    end
    if is_shared then
      answer_preflight()
    end
  end
  if rule then
    follow(rule, captures, uri)
  end
end

local function serve(host, secure)
  local view, was_forwarded, is_trusted = prepare(host, secure)
  local uri = var.uri
  if view.simple then
    if view.refuse_listed and listed_networks.count > 0 and var.remote_addr ~= PROBE then
      refuse_listed()
    end
  else
    check(view, uri, was_forwarded, is_trusted)
    if view.runtime == "cms" then
      return serve_application(view, host, uri, var.stead_seen_scheme)
    elseif view.runtime == "wasm" then
      local found = find_function(view, uri)
      if found then
        return serve_function(view, found)
      elseif view.protection then
        access.forbid_sharing()
      end
    end
  end
  var.stead_index = byte(uri, -1) == SLASH and "index.html" or ""
  if find(uri, "/.", 1, true) and is_hidden(uri) then
    return ngx.exit(404)
  end
  apply_site_rules(view, uri)
end

local function call_function(host, secure)
  local view, was_forwarded, is_trusted = prepare(host, secure)
  check(view, var.uri, was_forwarded, is_trusted)
  local found = find_function(view, var.uri)
  if not found then
    return answer.page("not_found")
  end
  return serve_function(view, found)
end

-- A browser sends what it has measured.
local function take_vitals(host, secure)
  local view, was_forwarded, is_trusted = prepare(host, secure)
  check(view, var.uri, was_forwarded, is_trusted)
  return ngx.exec("@vitals")
end

local function require_server_name(host)
  local name = var.ssl_server_name
  if name ~= host and (name or ""):lower() ~= host then
    return answer.page("misdirected")
  end
end

function M.http()
  return serve(var.host, false)
end

function M.https()
  local host = var.host
  require_server_name(host)
  return serve(host, true)
end

function M.http_function()
  return call_function(var.host, false)
end

function M.https_function()
  local host = var.host
  require_server_name(host)
  return call_function(host, true)
end

function M.http_vitals()
  return take_vitals(var.host, false)
end

function M.https_vitals()
  local host = var.host
  require_server_name(host)
  return take_vitals(host, true)
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then
    file:close()
  end
  return file ~= nil
end

-- There is no such file: redirect if a directory lacks its slash or a page has one too many, otherwise respond with
-- 404.
function M.missing()
  local uri, root = var.uri, var.document_root
  local canonical
  if not READS[ngx.req.get_method()] then
    return ngx.exit(405)
  end
  if not find(uri, "\0", 1, true) then
    if byte(uri, -1) ~= SLASH then
      canonical = exists(root .. uri .. "/index.html") and uri .. "/"
    elseif #uri > 1 then
      local page = gsub(uri, "/+$", "")
      canonical = page ~= "" and exists(root .. page .. ".html") and page
    end
  end
  if canonical and var.stead_rewritten == "1" then
    return ngx.exec(canonical, var.args)
  elseif canonical then
    -- The next release may turn the page into a directory or back: browsers that remembered the redirects of both
    -- releases would follow them in a circle.
    ngx.header["Cache-Control"] = "public, max-age=0, must-revalidate"
    access.keep_private()
    return ngx.redirect(redirects.location("/*", escape_percent(sub(canonical, 2)), var.args), 301)
  end
  if var.stead_rewritten ~= "1" and not site_rules.FILES[uri] then
    local rules = rule_files.of(var.stead_release, node.rules, var.stead_site)
    if rules then
      local rule, captures = site_rules.find(rules, uri, false, query_args)
      if rule then
        follow(rule, captures, uri)
      end
    end
  end
  return ngx.exit(404)
end

-- A file cannot answer a request that is not for reading.
function M.failed()
  if not READS[ngx.req.get_method()] then
    return answer.status()
  end
end

function M.nothing()
  if not exists(var.document_root) then
    return answer.page("unreleased", "the release is not on this node")
  end
  return answer.page(ngx.status == 410 and "gone" or "not_found")
end

function M.challenge()
  local token = var.uri:match "^/%.well%-known/acme%-challenge/([%w_-]+)$"
  local record = token and records.challenge(token)
  if token and not record and store.ask("challenge", token) == "found" then
    record = records.challenge(token)
  end
  if not record or record.host ~= var.host then
    return answer.page("not_found")
  end
  ngx.header["Content-Type"] = "text/plain"
  ngx.header["Content-Length"] = #record.answer
  ngx.print(record.answer)
end

return M
