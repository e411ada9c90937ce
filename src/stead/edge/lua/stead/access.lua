-- Protected previews. A visitor enters a password, or comes from the sign-in page of the platform with a token. Either
-- way a cookie lets them in for some hours. It is valid for one host, and until the protection changes.
local addresses = require "stead.addresses"
local answer = require "stead.answer"
local hop = require "stead.hop"
local lockout = require "stead.lockout"
local pages = require "stead.pages"
local signature = require "stead.signature"

local ngx, var = ngx, ngx.var
local byte, concat, find, format, gmatch = string.byte, table.concat, string.find, string.format, string.gmatch

local M = {}
local PATH = "/_stead/access"
local COOKIE = "stead_access"
-- Previews of all tenants have one parent domain, and a page can set cookies for it. Browsers accept this prefix only
-- from the host itself, over TLS. Without TLS, every cookie of the name is looked at.
local HOST_PREFIX, MAX_COOKIES = "__Host-", 10
local SECONDS = 43200
local MAX_BODY, MAX_PASSWORD, MAX_TOKEN, MAX_TARGET = 8192, 200, 600, 2048
-- Comparing a password is slow by design and keeps a worker busy, so it does so only a few times per second. Nobody may
-- use that up for others: neither with the right password of many previews, nor with wrong ones.
local PER_SECOND = 20
M.PER_SECOND_AND_SITE, M.PER_SECOND_AND_ENVIRONMENT, M.PER_SECOND_AND_VISITOR = 6, 3, 3
local SLASH, BACKSLASH = 47, 92
-- Headers that some caches believe more than Cache-Control.
local FOR_CACHES = { "CDN-Cache-Control", "Cloudflare-CDN-Cache-Control", "Surrogate-Control", "Edge-Control" }
local HEADERS = {
  ["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self';"
    .. " frame-ancestors 'none'; base-uri 'none'",
  ["X-Frame-Options"] = "DENY",
  ["Referrer-Policy"] = "same-origin",
}
local second, compared = 0, {}

local function statement(view, host, expires)
  return concat({ "access", view.environment, host, view.protection.proof, expires }, "\n")
end

local function cookie_name()
  return (var.stead_seen_scheme == "https" and HOST_PREFIX or "") .. COOKIE
end

local function set_cookie(view, host)
  local expires = tostring(ngx.time() + SECONDS)
  local made = hop.mac(hop.access_keys()[1], statement(view, host, expires))
  ngx.header["Set-Cookie"] = format("%s=%s.%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s", cookie_name(), expires,
    ngx.encode_base64(made):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }), SECONDS,
    var.stead_seen_scheme == "https" and "; Secure" or "")
end

local function is_valid(view, host, cookie)
  local expires, given = cookie:match "^(%d+)%.([%w_-]+)$"
  if not expires or #expires > 12 or tonumber(expires) < ngx.time() then
    return false
  end
  given = signature.decode(given)
  if not given then
    return false
  end
  local text = statement(view, host, expires)
  for _, key in ipairs(hop.access_keys()) do
    if hop.equal(hop.mac(key, text), given) then
      return true
    end
  end
  return false
end

local function has_cookie(view, host)
  local wanted, left = cookie_name(), MAX_COOKIES
  for name, value in gmatch(var.http_cookie or "", "([^=;%s]+)=([^;%s]*)") do
    if name == wanted and left > 0 then
      if is_valid(view, host, value) then
        return true
      end
      left = left - 1
    end
  end
  return false
end

-- Only a path of this host.
local function safe_target(to)
  if type(to) ~= "string" or #to > MAX_TARGET or byte(to) ~= SLASH or byte(to, 2) == SLASH
    or byte(to, 2) == BACKSLASH or find(to, "[%c%s]") or find(to, PATH, 1, true) == 1 then
    return "/"
  end
  return to
end

-- What is refused counts for nobody.
function M.may_compare(view, visitor, now)
  if second ~= now then
    second, compared = now, {}
  end
  local limits = {
    ["all"] = PER_SECOND,
    ["site " .. view.site] = M.PER_SECOND_AND_SITE,
    ["environment " .. view.environment] = M.PER_SECOND_AND_ENVIRONMENT,
    ["visitor " .. addresses.client_key(visitor)] = M.PER_SECOND_AND_VISITOR,
  }
  for name, limit in pairs(limits) do
    if (compared[name] or 0) >= limit then
      return false
    end
  end
  for name in pairs(limits) do
    compared[name] = (compared[name] or 0) + 1
  end
  return true
end

local function ask(view, reason, to)
  for name, value in pairs(HEADERS) do
    ngx.header[name] = value
  end
  local protection, extra = view.protection, ""
  to = safe_target(to)
  if protection.mode == "password" then
    extra = pages.password_form(PATH, to)
  elseif protection.sign_in ~= "" then
    local query = ngx.encode_args { host = var.http_host or var.host, scheme = var.stead_seen_scheme, to = to }
    extra = pages.link(protection.sign_in .. "?" .. query, "Sign in")
  end
  return answer.page(reason, nil, extra)
end

local function let_in(view, host, to)
  set_cookie(view, host)
  ngx.header["Cache-Control"] = "no-store"
  ngx.header["Referrer-Policy"] = "no-referrer"
  return ngx.redirect(safe_target(to), 303)
end

local function read_form()
  local length = tonumber(var.http_content_length)
  if not length or length > MAX_BODY then
    return answer.page("too_large")
  end
  ngx.req.read_body()
  return ngx.req.get_post_args(10) or {}
end

local function enter_password(view, host)
  local form = read_form()
  local counter = view.environment .. " access"
  if lockout.locked(counter, var.stead_visitor) then
    return answer.page("locked_out")
  elseif not M.may_compare(view, var.stead_visitor, ngx.time()) then
    return answer.page("busy")
  end
  local password = form.password
  local is_right = type(password) == "string" and #password <= MAX_PASSWORD
    and signature.is_password(view.protection, password)
  lockout.note(counter, var.stead_visitor, is_right and 303 or 401)
  if is_right then
    return let_in(view, host, form.to)
  end
  return ask(view, "wrong_password", form.to)
end

local function enter_with_token(view, host)
  local args = ngx.req.get_uri_args(10)
  local token = args.token
  if type(token) == "string" and #token <= MAX_TOKEN
    and signature.spend_token(view.protection.public_key, token, view.environment, host) then
    return let_in(view, host, args.to)
  end
  return ask(view, "protected", args.to)
end

-- Returns only if the visitor may see the page.
function M.require(view, host, uri)
  if uri == PATH then
    if view.protection.mode == "team" then
      return enter_with_token(view, host)
    elseif ngx.req.get_method() == "POST" then
      return enter_password(view, host)
    end
    return ask(view, "protected", "/")
  elseif not has_cookie(view, host) then
    return ask(view, "protected", var.request_uri)
  end
  var.stead_protected = "1"
  if view.runtime == "static" then
    M.forbid_sharing()
  end
end

local function forget_other_lifetimes()
  local header = ngx.header
  for at = 1, #FOR_CACHES do
    header[FOR_CACHES[at]] = nil
  end
end

-- What an application or a function answered. It may be stricter.
function M.keep_private()
  if var.stead_protected ~= "1" then
    return
  end
  forget_other_lifetimes()
  local sent = ngx.header["Cache-Control"] or ""
  local said = (type(sent) == "table" and concat(sent, ",") or sent):lower()
  if not find(said, "no-store", 1, true) and (not find(said, "private", 1, true) or find(said, "private%s*=")) then
    M.forbid_sharing()
  end
end

-- A cache between the visitor and the edge must not show a protected page to others, whatever the rules of the site say.
function M.forbid_sharing()
  ngx.header["Cache-Control"] = "private, max-age=0, must-revalidate"
  forget_other_lifetimes()
end

return M
