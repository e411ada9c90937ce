-- Applies the rules of the page cache: which requests may share a page, its cache key, and which responses may be
-- cached. No I/O: the caller looks up the revisions of purges.
local byte, sub, find, lower, gmatch, match = string.byte, string.sub, string.find, string.lower, string.gmatch, string.match
local concat, sort, format, char, gsub, min = table.concat, table.sort, string.format, string.char, string.gsub, math.min

local rules = require "stead.cache_rules"

local M = {}

M.MAX_TARGET = 1024

local function before(a, b)
  if a[1] ~= b[1] then
    return a[1] < b[1]
  end
  -- Values of the same name keep their order, which may matter.
  return a[3] < b[3]
end

-- The name of an argument as PHP reads it, in lower case: `add%2Dto%2Dcart[]` is `add-to-cart`.
local function argument_name(name)
  if find(name, "[%%+.[]") then
    name = gsub(name, "%+", " ")
    name = gsub(name, "%%(%x%x)", function(digits) return char(tonumber(digits, 16)) end)
    name = gsub(gsub(match(name, "^ *([^%[]*)"), "[ .]", "_"), "%z.*", "")
  end
  return lower(name)
end

local function is_ignored(name)
  if rules.arguments.ignored[name] then
    return true
  end
  for at = 1, #rules.arguments.ignored_prefixes do
    if find(name, rules.arguments.ignored_prefixes[at]) then
      return true
    end
  end
  return false
end

-- The query without ignored arguments, sorted by name.
function M.query(args)
  if not args or args == "" then
    return ""
  end
  local pairs_, count = {}, 0
  for pair in gmatch(args, "[^&]+") do
    local name = match(pair, "^[^=]*")
    if not is_ignored(argument_name(name)) then
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

-- A character that means the same with and without encoding is written without. A dot stays encoded: it could become
-- part of `..`.
local function decode_unreserved(digits)
  local plain = char(tonumber(digits, 16))
  return find(plain, "[%w_~-]") and plain or "%" .. digits:upper()
end

-- The normalized path and query, used for both the cache key and the request to the origin, so that the key covers
-- everything that the origin sees.
function M.target(request_uri)
  if find(request_uri, "%", 1, true) then
    request_uri = gsub(request_uri, "%%(%x%x)", decode_unreserved)
  end
  local at = find(request_uri, "?", 1, true)
  local path = at and sub(request_uri, 1, at - 1) or request_uri
  if byte(path) ~= 47 then
    path = "/" .. path
  end
  return at and path .. M.query(sub(request_uri, at + 1)) or path
end

local function rule_of_query(query)
  local found
  for pair in gmatch(query, "[^&]+") do
    local name = argument_name(match(pair, "^[^=]*"))
    if rules.arguments.bypass[name] then
      return "bypass"
    elseif rules.arguments.short[name] then
      found = "short"
    end
  end
  return found
end

local function rule_of_path(path)
  for at = 1, #rules.paths do
    local rule = rules.paths[at]
    if find(path, rule[1]) then
      return rule[2]
    end
  end
end

-- Whether the page of this path and query is `cached`, cached for a `short` time, or must `bypass` the cache.
function M.rule(path, target)
  local by_path = rule_of_path(lower(path))
  local at = by_path ~= "bypass" and find(target, "?", 1, true)
  local by_query = at and rule_of_query(sub(target, at + 1))
  if by_path == "bypass" or by_query == "bypass" then
    return "bypass"
  end
  return (by_path == "short" or by_query == "short") and "short" or "cached"
end

-- The key of the number of entries that a path has for different queries; nil for a target without a query.
function M.variants(environment, target)
  local at = find(target, "?", 1, true)
  return at and "v " .. environment .. " " .. sub(target, 1, at - 1)
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

local function is_harmless(cookie)
  for at = 1, #rules.harmless_cookies do
    if find(cookie, rules.harmless_cookies[at]) then
      return true
    end
  end
  return false
end

function M.harmless_cookies(header)
  for name in gmatch(lower(header), "[ \t]*([^=;]*)[^;]*;?") do
    if name ~= "" and not is_harmless(name) then
      return false
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

local function is_personal(headers)
  for at = 1, #rules.personal_responses do
    local rule = rules.personal_responses[at]
    local value = joined(headers[rule[1]])
    if value and find(lower(value), rule[2]) then
      return true
    end
  end
  for name in gmatch(lower(joined(headers["vary"]) or ""), "[^,%s]+") do
    if not rules.varied[name] then
      return true
    end
  end
  -- A redirect after an action, with a secret for one visitor.
  local query = match(joined(headers["location"]) or "", "%?([^#]*)")
  return query ~= nil and rule_of_query(query) == "bypass"
end

-- Days since 1970 of a date in the Gregorian calendar.
local function days(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  local floor = math.floor
  return 365 * year + floor(year / 4) - floor(year / 100) + floor(year / 400) + floor((153 * month - 457) / 5) + day
    - 719469
end

local MONTHS = { jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11,
  dec = 12 }

-- The seconds until a date of HTTP; a date in another format has passed.
local function seconds_until(date, now)
  local day, month, year, hour, minute, second =
    match(lower(date), "^%a+, (%d%d) (%a%a%a) (%d%d%d%d) (%d%d):(%d%d):(%d%d) gmt$")
  if not MONTHS[month] then
    return 0
  end
  local at = days(tonumber(year), MONTHS[month], tonumber(day)) * 86400 + hour * 3600 + minute * 60 + second
  return at - now
end

-- The lifetime that the response names itself, if it does.
local function own_seconds(headers, now)
  local control = lower(joined(headers["cache-control"]) or "")
  local age = match(control, "s%-maxage%s*=%s*\"?(%d+)") or match(control, "max%-age%s*=%s*\"?(%d+)")
  if age then
    return tonumber(age)
  end
  local expires = joined(headers["expires"])
  return expires and seconds_until(expires, now)
end

-- For how many seconds a response may be cached; 0 for not at all. `rule` is that of its path and query.
function M.seconds(status, headers, ttl, rule, now)
  local limit = rules.statuses[status]
  if ttl <= 0 or not limit or rule == "bypass" or is_personal(headers) then
    return 0
  end
  local seconds = min(ttl, limit, own_seconds(headers, now or os.time()) or limit)
  return math.max(rule == "short" and min(seconds, rules.SHORT_SECONDS) or seconds, 0)
end

return M
