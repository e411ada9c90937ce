-- The rules that a release brings along: redirects, rewrites and headers. The node has compiled them
-- (`stead.artifacts.site_rules`) into `release-rules/<release>.json`, outside of what a customer can write.
--
-- Any customer writes them, so a worker keeps a limited amount of them, and reads only a few files per second.
local byte, sub, find, gsub, format, concat =
  string.byte, string.sub, string.find, string.gsub, string.format, table.concat

local M = {}

local SLASH = 47
local MAX_FILE_BYTES = 3 * 2 ^ 20
-- The compiled rules that a worker keeps, in bytes of JSON.
local MAX_CACHED_BYTES = 24 * 2 ^ 20
local MAX_CACHED = 20000
local MAX_LOADED_PER_SECOND = 8 * 2 ^ 20
-- How long a worker remembers that a release has no rules.
local NONE_SECONDS = 60
-- The headers of one response.
local MAX_HEADERS, MAX_HEADER_BYTES = 60, 8192
-- The sets of header rules of a release for which a worker remembers what they say together.
local MAX_DECISIONS = 256

-- Files that are instructions for the edge and never served.
M.FILES = { ["/_redirects"] = true, ["/_headers"] = true, ["/stead.json"] = true }

local cache, cached_bytes, second, loaded

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

-- The branches of a tree that match a path: the numbers of their rules, the rest that a star matches, and the captured
-- segments. They are overwritten by the next search, so that a search allocates nothing.
local numbers_of, rest_of, captures_of, matches = {}, {}, {}, 0

local function add_match(numbers, rest, captures, depth)
  matches = matches + 1
  numbers_of[matches], rest_of[matches] = numbers, rest
  local copied = false
  if depth > 0 then
    copied = {}
    for at = 1, depth do
      copied[at] = captures[at]
    end
  end
  captures_of[matches] = copied
end

-- `at` is where the next segment begins. Segments are read one by one: most paths leave the tree at the first.
local function walk(node, path, at, captures, depth)
  if node.s then
    add_match(node.s, at, captures, depth)
  end
  if at > #path then
    if node.i then
      add_match(node.i, false, captures, depth)
    end
    return
  end
  local literals, any = node.l, node.p
  if not literals and not any then
    return
  end
  local slash = find(path, "/", at, true) or #path + 1
  local segment = sub(path, at, slash - 1)
  local literal = literals and literals[segment]
  if literal then
    walk(literal, path, slash + 1, captures, depth)
  end
  if any and segment ~= "" then
    captures[depth + 1] = segment
    walk(any, path, slash + 1, captures, depth + 1)
  end
end

local captured = {}

-- Finds all matches of a path, which has no slash at its end.
local function search(index, path)
  matches = 0
  local exact = index.exact and index.exact[path]
  if exact then
    add_match(exact, false, captured, 0)
  end
  if index.tree then
    walk(index.tree, path, 2, captured, 0)
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

-- Which kinds of redirects there are, so that a search for others is left out.
local function describe(index)
  index.described, index.has_forced, index.has_others = true, false, false
  for at = 1, #index.rules do
    if index.rules[at].force == true then
      index.has_forced = true
    else
      index.has_others = true
    end
  end
end

-- The captures of a match, with the values of its query; number 0 is the rest that its star matches.
local function fill_captures(match, path, values)
  local rest, chosen = rest_of[match], captures_of[match] or {}
  local count = #chosen
  chosen[0] = rest and sub(path, rest) or ""
  for more = 1, values and #values or 0 do
    chosen[count + more] = values[more]
  end
  return chosen
end

-- Finds the first redirect for a path, among those that come before files, or among the others. Returns the rule and
-- its captures.
function M.find(rules, path, forced, get_args)
  local index = rules.redirects
  if not index then
    return nil
  elseif not index.described then
    describe(index)
  end
  if forced and not index.has_forced or not forced and not index.has_others then
    return nil
  end
  path = without_slash(path)
  search(index, path)
  local best, match, captures
  for at = 1, matches do
    local numbers = numbers_of[at]
    for each = 1, #numbers do
      local number = numbers[each]
      if best and number >= best then
        break
      end
      local rule = index.rules[number]
      if (rule.force == true) == forced then
        local values = rule.query and match_query(rule.query, get_args)
        if values or not rule.query then
          best, match, captures = number, at, values
          break
        end
      end
    end
  end
  if best then
    return index.rules[best], fill_captures(match, path, captures)
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

-- The headers that rules set, in the order of their numbers. Values of several rules are joined.
local function join_headers(index, numbers)
  local values, names, order, bytes, set = {}, {}, 0, 0, 0
  for at = 1, #numbers do
    local list = index.rules[numbers[at]]
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

-- The headers that rules remove and do not set again, without the order of `join_headers`.
local function find_removed(index, numbers, values)
  local removed, seen = {}, {}
  for at = 1, #numbers do
    local list = index.rules[numbers[at]]
    for each = 1, #list do
      local key = list[each][1]:lower()
      if not list[each][2] and not values[key] and not seen[key] then
        seen[key] = true
        removed[#removed + 1] = key
      end
    end
  end
  return removed
end

local NO_HEADERS = {}

-- The numbers of the header rules that match, in order, and a key that stands for them; nil without any.
local function match_headers(index, path)
  search(index, path)
  if matches == 0 then
    return nil
  elseif matches == 1 and #numbers_of[1] == 1 then
    return numbers_of[1], numbers_of[1][1]
  end
  local found, count = {}, 0
  for at = 1, matches do
    for each = 1, #numbers_of[at] do
      count = count + 1
      found[count] = numbers_of[at][each]
    end
  end
  table.sort(found)
  return found, concat(found, ",")
end

-- The headers for a path: a table with `headers`, names and values in turn, `removed`, and `shared` if other origins may
-- read it.
-- What a set of rules says together is remembered: a site has many paths, but few sets of rules that match one.
local function decide_headers(index, path)
  local numbers, key = match_headers(index, path)
  if not numbers then
    return NO_HEADERS
  end
  local decided = index.decided
  if not decided or index.decided_count >= MAX_DECISIONS then
    decided, index.decided_count = {}, 0
    index.decided = decided
  end
  local decision = decided[key]
  if not decision then
    local values, names = join_headers(index, numbers)
    decision = {
      headers = in_order(values, names),
      removed = find_removed(index, numbers, values),
      shared = values["access-control-allow-origin"] ~= nil,
    }
    decided[key] = decision
    index.decided_count = index.decided_count + 1
  end
  return decision
end

-- The headers for a path by the settings of the environment, as `decide_headers` returns them. `removed` lists those
-- that the release may have set.
function M.decide_settings(index, path)
  return decide_headers(index, without_slash(path))
end

-- What the rules say about a path before files are looked for: its headers, then the redirect and its captures.
function M.decide(rules, path, get_args)
  local decision = rules.headers and decide_headers(rules.headers, without_slash(path)) or NO_HEADERS
  return decision, M.find(rules, path, true, get_args)
end

return M
