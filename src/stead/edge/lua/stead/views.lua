-- The view of an environment: its record, checked and with compiled lists. `simple` marks the case that needs no
-- further checks.
local addresses = require "stead.addresses"
local redirects = require "stead.redirects"

local M = {}

-- How visitors prove that they may see a preview. A cookie is valid as long as `proof` stays the same.
local function protection(given)
  local made = {
    mode = given.mode,
    salt = given.salt or "",
    digest = given.digest or "",
    iterations = tonumber(given.iterations) or 0,
    public_key = given.public_key or "",
    sign_in = given.sign_in or "",
  }
  made.proof = made.mode == "team" and made.public_key or made.salt .. made.digest
  return made
end

local function is_name(text)
  return type(text) == "string" and #text <= 128 and text:find "^[%w][%w_-]*$" ~= nil
end

-- Releases become paths, so a leading dot or a slash is refused.
local function is_release(text)
  return type(text) == "string" and #text <= 160 and text:find "^[%w][%w._-]*$" ~= nil
end

-- The record of the environment as the permanent host of one of its deployments shows it.
function M.permanent(record, release)
  record.release, record.permanent, record.noindex = release, true, true
  if (record.runtime or "static") ~= "static" then
    record.state, record.reason = "unreleased", "only static sites have permanent URLs"
  end
  return record
end

-- The functions of a site, the longest path first.
local function read_functions(listed)
  local functions = {}
  for _, each in ipairs(type(listed) == "table" and listed or {}) do
    local path, version = each[1], each[2]
    if type(path) == "string" and type(version) == "string" and version:find "^fnv_%w+$" then
      functions[#functions + 1] = {
        path = path,
        below = path .. "/",
        socket = version:sub(5),
        rate = tonumber(each[3]) or 100,
        bytes = tonumber(each[4]) or 2 ^ 20,
      }
    end
  end
  return functions
end

function M.make(environment, record, node, secure)
  if type(record) ~= "table" or not is_name(environment) or not is_name(record.site) then
    return { environment = "", site = "", state = "unreleased", reason = "the record is malformed", here = true }
  end
  local view = {
    environment = environment,
    site = record.site,
    release = record.release or "placeholder",
    runtime = record.runtime or "static",
    state = record.state or "serving",
    reason = record.reason or "",
    node = record.node,
    here = record.node == node,
    waf = record.waf or "detection",
    login_lockout = record.login_lockout == true,
    ttl = tonumber(record.cache_ttl) or 0,
    hot_ttl = tonumber(record.hot_ttl) or 300,
    refuse_listed = record.ip_reputation == true,
    https = secure == true,
    noindex = record.noindex == true,
    sample_rate = tonumber(record.trace_sample_rate) or 0.01,
  }
  if not is_release(view.release) then
    view.state, view.reason = "unreleased", "the release has no proper name"
  end
  if view.runtime == "wasm" then
    view.functions = read_functions(record.functions)
  end
  local hsts = tonumber(record.hsts) or 0
  if hsts > 0 then
    view.hsts = string.format("max-age=%d", hsts)
  end
  if type(record.allowed_ips) == "table" and #record.allowed_ips > 0 then
    view.allowed = addresses.compile(record.allowed_ips)
  end
  if type(record.redirects) == "table" then
    view.rules = redirects.base(view.site, record.redirects.version)
    view.lengths = type(record.redirects.lengths) == "table" and record.redirects.lengths or {}
  end
  if type(record.quarantined) == "table" and #record.quarantined > 0 then
    view.quarantined = {}
    for _, path in ipairs(record.quarantined) do
      view.quarantined[path] = true
    end
  end
  if type(record.headers) == "table" and type(record.headers.rules) == "table" then
    view.headers = record.headers
  end
  if type(record.partner) == "table" then
    view.partner = { client = record.partner.client, digest = record.partner.digest }
  end
  if type(record.protection) == "table" and (record.protection.everywhere or record.permanent) then
    view.protection = protection(record.protection)
  end
  -- Files can be served without further checks.
  view.simple = view.here and view.state == "serving" and view.runtime == "static"
    and not view.allowed and not view.rules and not view.partner and not view.protection
  return view
end

return M
