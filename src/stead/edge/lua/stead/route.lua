-- Decides how a request is answered.
local addresses = require "stead.addresses"
local answer = require "stead.answer"
local lines = require "stead.lines"
local lockout = require "stead.lockout"
local node = require "stead.node"
local origin = require "stead.origin"
local pagecache = require "stead.pagecache"
local records = require "stead.records"
local redirects = require "stead.redirects"
local store = require "stead.store"
local trace = require "stead.trace"

local ngx, var = ngx, ngx.var
local byte, find, sub, gsub, lower = string.byte, string.find, string.sub, string.gsub, string.lower
local view_of, is_peer = records.view, records.is_peer
local pages = ngx.shared.pages

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

-- The host is not in shared memory: look it up in the node's store, unless it is known not to exist.
local function look_up(host, known)
  local result = (known or host == "") and "unknown" or store.ask("host", host)
  if result == "found" then
    local view = view_of(host)
    if view then
      return view
    end
    return answer.page("unreleased", "the environment of this host is not known yet")
  elseif result == "unreachable" and not records.complete() then
    return answer.page("starting")
  end
  return answer.page("unknown_host")
end

local function is_hidden(uri)
  return find(gsub(uri, "^/%.well%-known/", "/"), "/.", 1, true) ~= nil
end

-- Headers of another edge are trusted only if they come from the address of an edge. Returns whether the request was
-- forwarded, and whether the visitor reached the other edge over TLS.
local function forwarded()
  if not var.http_x_stead_hop then
    return false, false
  end
  if not is_peer(var.remote_addr) then
    return true, false
  end
  local visitor = var.http_x_stead_visitor
  if visitor and addresses.parse(visitor) then
    var.stead_from = visitor
  end
  local secure = var.http_x_stead_scheme == "https"
  if secure then
    var.stead_scheme = "https"
  end
  return true, secure
end

local function redirect_to_tls(host)
  local port = node.secure_port == 443 and "" or ":" .. node.secure_port
  local target = var.request_uri
  if byte(target) ~= SLASH then
    target = "/"
  end
  return ngx.redirect("https://" .. host .. port .. target, READS[ngx.req.get_method()] and 301 or 308)
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
      if known ~= origin.PASS then
        local since
        if known then
          local at, tags = lines.split(known)
          if pagecache.fresh(records.purged, view.environment, target, tags, at) then
            since = at
          end
        end
        if not since then
          since = records.purged("s:" .. view.environment) or 0
          begin_trace(view)
        end
        var.stead_key = pagecache.key(node.instance, since, page)
        var.stead_target = target
        return ngx.exec("@cached")
      end
    end
  end
  begin_trace(view)
  return ngx.exec("@dynamic")
end

-- The checks before the site itself answers. `answer.page`, `ngx.exec` and `ngx.redirect` do not return.
local function check(view, uri, was_forwarded)
  if not view.here then
    if was_forwarded then
      return answer.page("loop", "another edge says that it is carried here")
    end
    local peer = records.peer(view.node or "")
    if not peer then
      return answer.page("node_unreachable", "the node that carries it is not known")
    end
    var.stead_peer = peer
    begin_trace(view)
    return ngx.exec("@peer")
  end
  if view.state == "suspended" then
    return answer.page("suspended", view.reason)
  elseif view.state ~= "serving" then
    return answer.page("unreleased", view.reason)
  end
  if view.allowed and var.remote_addr ~= PROBE and not addresses.contains(view.allowed, var.stead_visitor) then
    return answer.page("not_allowed")
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
  end
  local was_forwarded, by_tls = forwarded()
  if secure or by_tls then
    if view.hsts and view.here then
      var.stead_hsts = view.hsts
    end
  elseif view.https and not probed then
    redirect_to_tls(host)
  end
  return view, was_forwarded
end

local function serve(host, secure)
  local view, was_forwarded = prepare(host, secure)
  local uri = var.uri
  if not view.simple then
    check(view, uri, was_forwarded)
    if view.runtime == "cms" then
      return serve_application(view, host, uri, var.stead_seen_scheme)
    elseif view.runtime == "wasm" then
      begin_trace(view)
      return ngx.exec("@functions")
    end
  end
  if byte(uri, -1) == SLASH then
    var.stead_index = "index.html"
  end
  if find(uri, "/.", 1, true) and is_hidden(uri) then
    return ngx.exit(404)
  end
end

local function call_function(host, secure)
  local view, was_forwarded = prepare(host, secure)
  check(view, var.uri, was_forwarded)
  begin_trace(view)
  return ngx.exec("@functions")
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
  if READS[ngx.req.get_method()] and not find(uri, "\0", 1, true) then
    if byte(uri, -1) ~= SLASH then
      canonical = exists(root .. uri .. "/index.html") and uri .. "/"
    elseif #uri > 1 then
      local page = gsub(uri, "/+$", "")
      canonical = page ~= "" and exists(root .. page .. ".html") and page
    end
  end
  if canonical then
    return ngx.redirect(redirects.location("/*", escape_percent(sub(canonical, 2)), var.args), 301)
  end
  return ngx.exit(404)
end

function M.nothing()
  if not exists(var.document_root) then
    return answer.page("unreleased", "the release is not on this node")
  end
  return answer.page("not_found")
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
