-- The rules of the page cache: which requests may share a page, its cache key, and which responses may be cached.
-- No I/O: the caller looks up the revisions of purges.
local byte, sub, find, lower, gmatch, match = string.byte, string.sub, string.find, string.lower, string.gmatch, string.match
local concat, sort, format = table.concat, table.sort, string.format

local M = {}

M.MAX_TARGET = 1024
local TRACKING = {
  fbclid = true, gclid = true, gclsrc = true, dclid = true, gbraid = true, wbraid = true, msclkid = true,
  mc_cid = true, mc_eid = true, yclid = true, igshid = true, ttclid = true, twclid = true, li_fat_id = true,
  _ga = true, _gl = true, _hsenc = true, _hsmi = true, srsltid = true,
}
-- Cookies that only scripts in the browser read. Any other cookie may be a session.
local HARMLESS = {
  "^_ga$", "^_ga_", "^_gid$", "^_gat", "^_gcl_", "^__utm", "^_fbp$", "^_fbc$", "^_hj", "^_pk_", "^_clck$",
  "^_clsk$", "^_uet", "^_tt", "^_pin_", "^__gads$", "^__gpi$", "^__hs", "^hubspotutk$", "^cookieyes", "^cmplz_",
  "^cookielawinfo", "^CookieConsent$", "^cookie_notice_accepted$", "^viewed_cookie_policy$", "^OptanonConsent$",
  "^OptanonAlertBoxClosed$", "^wordpress_test_cookie$", "^wp%-settings%-time", "^borlabs%-cookie$",
}
local CACHEABLE = { [200] = true, [301] = true, [308] = true, [404] = true, [410] = true }
local SHORT = 60

local function before(a, b)
  if a[1] ~= b[1] then
    return a[1] < b[1]
  end
  -- Values of the same name keep their order, which may matter.
  return a[3] < b[3]
end

-- The query without tracking parameters, sorted by name.
function M.query(args)
  if not args or args == "" then
    return ""
  end
  local pairs_, count = {}, 0
  for pair in gmatch(args, "[^&]+") do
    local name = match(pair, "^[^=]*")
    local plain = lower(name)
    if not (TRACKING[plain] or find(plain, "^utm_")) then
      count = count + 1
      pairs_[count] = { name, pair, count }
    end
  end
  if count == 0 then
    return ""
  end
  sort(pairs_, before)
  for at = 1, count do
    pairs_[at] = pairs_[at][2]
  end
  return "?" .. concat(pairs_, "&")
end

-- The normalized path and query, used for both the cache key and the request to the origin, so that the key covers
-- everything that the origin sees.
function M.target(request_uri)
  local at = find(request_uri, "?", 1, true)
  local path = at and sub(request_uri, 1, at - 1) or request_uri
  if byte(path) ~= 47 then
    path = "/" .. path
  end
  return at and path .. M.query(sub(request_uri, at + 1)) or path
end

-- `page` is the key of the entry about a page. The key of the page itself adds the revision at which it was fetched
-- and the name of the shared memory.
function M.page(environment, release, scheme, host, target)
  return environment .. " " .. release .. " " .. scheme .. " " .. host .. " " .. target
end

function M.key(instance, since, page)
  return instance .. " " .. format("%.0f", since) .. " " .. page
end

function M.parts(key)
  local since, page = match(key, "^%S+ (%d+) (.*)$")
  return tonumber(since), page
end

function M.harmless_cookies(header)
  for name in gmatch(header, "[ \t]*([^=;]*)[^;]*;?") do
    if name ~= "" then
      local known = false
      for at = 1, #HARMLESS do
        if find(name, HARMLESS[at]) then
          known = true
          break
        end
      end
      if not known then
        return false
      end
    end
  end
  return true
end

-- A page fetched at revision `since` is fresh unless a later purge covers it.
-- `purged(key)` returns the revision of a purge or nil.
function M.fresh(purged, environment, target, tags, since)
  if (purged("a:" .. environment) or 0) > since or (purged("u:" .. environment .. ":" .. target) or 0) > since then
    return false
  end
  if tags == "" then
    return true
  end
  for tag in gmatch(tags, "[^,%s]+") do
    if (purged("t:" .. environment .. ":" .. tag) or 0) > since then
      return false
    end
  end
  return true
end

local function joined(value)
  return type(value) == "table" and concat(value, ",") or value
end

-- For how many seconds a response may be cached; 0 for not at all.
function M.seconds(status, headers, ttl)
  if ttl <= 0 or not CACHEABLE[status] or headers["set-cookie"] then
    return 0
  end
  local vary = joined(headers["vary"])
  if vary then
    for name in gmatch(lower(vary), "[^,%s]+") do
      if name ~= "accept-encoding" then
        return 0
      end
    end
  end
  if headers["content-range"] or headers["www-authenticate"] then
    return 0
  end
  local control = joined(headers["cache-control"])
  if control then
    control = lower(control)
    if find(control, "private", 1, true) or find(control, "no-store", 1, true) or find(control, "no-cache", 1, true) then
      return 0
    end
    local own = match(control, "s%-maxage%s*=%s*\"?(%d+)") or match(control, "max%-age%s*=%s*\"?(%d+)")
    if own then
      ttl = math.min(ttl, tonumber(own))
    end
  end
  if status >= 400 then
    ttl = math.min(ttl, SHORT)
  end
  return ttl
end

return M
