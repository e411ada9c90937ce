-- The rules that a release brings along: redirects, rewrites and headers. The node has compiled them
-- (`stead.artifacts.site_rules`) into `release-rules/<release>.json`, outside of what a customer can write.
--
-- Any customer writes them, so a worker keeps a limited amount of them, and reads only a few files per second.
local byte, sub, find, gsub, format, concat =
  string.byte, string.sub, string.find, string.gsub, string.format, table.concat

local M = {}

local SLASH = 47
local MAX_SEGMENTS = 33
local MAX_FILE_BYTES = 3 * 2 ^ 20
-- The compiled rules that a worker keeps, in bytes of JSON.
local MAX_CACHED_BYTES = 24 * 2 ^ 20
local MAX_CACHED = 20000
local MAX_LOADED_PER_SECOND = 8 * 2 ^ 20
-- How long a worker remembers that a release has no rules.
local NONE_SECONDS = 60
-- The headers of one response.
local MAX_HEADERS, MAX_HEADER_BYTES = 60, 8192
-- The paths for which a worker remembers what the rules say. Releases never change, so it stays true.
local MAX_DECISIONS, MAX_DECIDED_PATH = 2048, 256

-- Files that are instructions for the edge and never served.
M.FILES = { ["/_redirects"] = true, ["/_headers"] = true, ["/stead.json"] = true }

local cache, cached_bytes, second, loaded, decisions

local function read(path)
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local content = file:read(MAX_FILE_BYTES + 1)
  file:close()
  return content and #content <= MAX_FILE_BYTES and content or nil
end

-- The rules of a release; false without any. Returns nil if too many were read in this second.
function M.of(release, directory)
  if not cache then
    cache, cached_bytes = require("resty.lrucache").new(MAX_CACHED), 0
  end
  local rules = cache:get(release)
  if rules ~= nil then
    return rules
  end
  local now = math.floor(ngx.now())
  if second ~= now then
    second, loaded = now, 0
  elseif loaded >= MAX_LOADED_PER_SECOND then
    return nil
  end
  local content = read(directory .. "/" .. release .. ".json")
  rules = content and require("cjson.safe").decode(content)
  if type(rules) ~= "table" then
    rules = false
    cache:set(release, false, NONE_SECONDS)
  else
    loaded = loaded + #content
    if cached_bytes + #content > MAX_CACHED_BYTES then
      cache:flush_all()
      cached_bytes = 0
    end
    cached_bytes = cached_bytes + #content
    cache:set(release, rules)
  end
  return rules
end

local function without_slash(path)
  local last = #path
  while last > 1 and byte(path, last) == SLASH do
    last = last - 1
  end
  return last == #path and path or sub(path, 1, last)
end

-- The first segments of a path, and where each of them begins.
local function split(path)
  local segments, starts, count, at = {}, {}, 0, 2
  while at <= #path and count < MAX_SEGMENTS do
    local slash = find(path, "/", at, true) or #path + 1
    count = count + 1
    segments[count], starts[count] = sub(path, at, slash - 1), at
    at = slash + 1
  end
  starts[count + 1] = at
  return segments, starts, count
end

-- Calls `found(numbers, captures, depth, rest)` for every branch of the tree that matches.
local function walk(node, path, segments, starts, count, at, captures, depth, found)
  if node.s then
    found(node.s, captures, depth, sub(path, starts[at] or #path + 1))
  end
  if at > count then
    if node.i and (starts[at] or 0) > #path then
      found(node.i, captures, depth, nil)
    end
    return
  end
  local segment = segments[at]
  local literal = node.l and node.l[segment]
  if literal then
    walk(literal, path, segments, starts, count, at + 1, captures, depth, found)
  end
  if node.p and segment ~= "" then
    captures[depth + 1] = segment
    walk(node.p, path, segments, starts, count, at + 1, captures, depth + 1, found)
  end
end

local function each_match(index, path, found)
  path = without_slash(path)
  local exact = index.exact and index.exact[path]
  if exact then
    found(exact, {}, 0, nil)
  end
  if index.tree then
    local segments, starts, count = split(path)
    walk(index.tree, path, segments, starts, count, 1, {}, 0, found)
  end
end

-- The values that the query of a rule captures, or nil if the request does not have its parameters.
local function match_query(wanted, get_args)
  local values, args = {}, get_args()
  for at = 1, #wanted do
    local value = args[wanted[at][1]]
    if type(value) == "table" then
      value = value[1]
    elseif value == true then
      value = ""
    end
    if value == nil or wanted[at][2] and wanted[at][2] ~= value then
      return nil
    end
    if not wanted[at][2] then
      values[#values + 1] = value
    end
  end
  return values
end

-- Finds the first redirect for a path, among those that come before files, or among the others. Returns the rule and
-- its captures; number 0 is the rest that its star matches.
function M.find(rules, path, forced, get_args)
  local index = rules.redirects
  if not index then
    return nil
  end
  local best, chosen
  each_match(index, path, function(numbers, captures, depth, rest)
    for at = 1, #numbers do
      local number = numbers[at]
      if best and number >= best then
        return
      end
      local rule = index.rules[number]
      if (rule.force == true) == forced then
        local values = rule.query and match_query(rule.query, get_args)
        if values or not rule.query then
          best, chosen = number, { [0] = rest or "" }
          for capture = 1, depth do
            chosen[capture] = captures[capture]
          end
          for more = 1, values and #values or 0 do
            chosen[depth + more] = values[more]
          end
          return
        end
      end
    end
  end)
  if best then
    return index.rules[best], chosen
  end
end

local function escaped(char)
  return format("%%%02X", byte(char))
end

local function for_location(text)
  return (gsub(text, "[^%w%-%._~!$&'()*+,;=:@/]", escaped))
end

local function in_query(text)
  return (gsub(text, "[^%w%-%._~]", escaped))
end

-- The destination with the captures of a request. They cannot change the host: the compiler allows captures only after
-- it, and a path keeps exactly one slash at its beginning.
function M.fill(to, captures, escape)
  if type(to) == "string" then
    return to
  end
  local parts, queried = {}, false
  for at = 1, #to do
    local part = to[at]
    if at % 2 == 1 then
      parts[at] = part
      queried = queried or find(part, "?", 1, true) ~= nil
    else
      local value = captures[part] or ""
      parts[at] = escape and (queried and in_query(value) or for_location(value)) or value
    end
  end
  return concat(parts)
end

-- The value of `Location`.
function M.location(to, captures, args)
  local where = M.fill(to, captures, true)
  if byte(where, 1) == SLASH then
    where = gsub(where, "^/[/\\]+", "/")
  else
    local host = type(to) == "table" and to[1] or where
    -- A capture directly behind the host must not become a part of it.
    if type(to) == "table" and find(host, "^%a[%w+.-]*://[^/?#]*$") then
      where = host .. "/" .. sub(where, #host + 1)
    end
  end
  if args and args ~= "" and not find(where, "?", 1, true) then
    where = where .. "?" .. args
  end
  return (gsub(where, "[%c\127 ]", escaped))
end

-- The path on the site that a rewrite shows, decoded; nil if it is not a proper path.
function M.target(to, captures)
  local where = M.fill(to, captures, false)
  local path = gsub(where, "[?#].*$", "")
  if type(to) == "string" then
    path = ngx.unescape_uri(gsub(path, "+", "%%2B"))
  end
  path = gsub(path, "//+", "/")
  if byte(path, 1) ~= SLASH or find(path, "%z") or find(path .. "/", "/../", 1, true) then
    return nil
  end
  return path
end

-- The headers for a path: a list of names and values. Values of several rules are joined.
function M.headers(rules, path)
  local index = rules.headers
  if not index then
    return nil
  end
  local matched, count = {}, 0
  each_match(index, path, function(numbers)
    for at = 1, #numbers do
      count = count + 1
      matched[count] = numbers[at]
    end
  end)
  if count == 0 then
    return nil
  end
  if count > 1 then
    table.sort(matched)
  end
  local values, names, order, bytes, set = {}, {}, 0, 0, 0
  for at = 1, count do
    local list = index.rules[matched[at]]
    for each = 1, #list do
      local name, value = list[each][1], list[each][2]
      local key = name:lower()
      if not value then
        values[key] = nil
      else
        set = set + 1
        bytes = bytes + #name + #value
        if set > MAX_HEADERS or bytes > MAX_HEADER_BYTES then
          return values, names
        end
        if values[key] then
          values[key] = values[key] .. ", " .. value
        else
          values[key] = value
          order = order + 1
          names[order] = name
        end
      end
    end
  end
  return values, names
end

local function in_order(values, names)
  local list, count = {}, 0
  for at = 1, #names do
    local value = values[names[at]:lower()]
    if value then
      list[count + 1], list[count + 2] = names[at], value
      count = count + 2
    end
  end
  return list
end

-- Whether a redirect depends on the query of a request.
local function has_queries(index)
  if not index then
    return false
  elseif index.queried == nil then
    index.queried = false
    for at = 1, #index.rules do
      index.queried = index.queried or index.rules[at].query ~= nil
    end
  end
  return index.queried
end

-- What the rules say about a path before files are looked for: a table with `headers`, names and values in turn, and
-- `shared` if other origins may read it; then the redirect and its captures.
function M.decide(release, rules, path, get_args)
  decisions = decisions or require("resty.lrucache").new(MAX_DECISIONS)
  -- The name of a release has no slash, and a path begins with one.
  local key = #path <= MAX_DECIDED_PATH and release .. path
  local decision = key and decisions:get(key)
  if not decision then
    decision = { queried = has_queries(rules.redirects) }
    local values, names = M.headers(rules, path)
    if values then
      decision.headers = in_order(values, names)
      decision.shared = values["access-control-allow-origin"] ~= nil
    end
    if not decision.queried then
      decision.rule, decision.captures = M.find(rules, path, true, get_args)
    end
    if key then
      decisions:set(key, decision)
    end
  end
  if decision.queried then
    return decision, M.find(rules, path, true, get_args)
  end
  return decision, decision.rule, decision.captures
end

return M
