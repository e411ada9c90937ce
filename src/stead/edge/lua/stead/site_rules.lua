-- The rules that a release brings along: redirects, rewrites and headers. The node has compiled them
-- (`stead.artifacts.site_rules`), and `rule_files.lua` reads them. Any customer writes them, so what a request costs and
-- what a worker remembers is limited.
local byte, sub, find, gsub, format, concat =
  string.byte, string.sub, string.find, string.gsub, string.format, table.concat

local M = {}

local SLASH = 47
-- The headers of one response.
local MAX_HEADERS, MAX_HEADER_BYTES = 60, 8192
-- The headers that rules set or remove before others are ignored.
local MAX_HEADER_STEPS = 1000
-- The sets of header rules of a release for which a worker remembers what they say together, and the bytes that it
-- remembers for all releases.
local MAX_DECISIONS, MAX_DECISION_BYTES, DECISION_BYTES = 256, 8 * 2 ^ 20, 500

-- Files that are instructions for the edge and never served, and compressed copies of them.
M.FILES = {}
for _, name in ipairs { "/_redirects", "/_headers", "/stead.json" } do
  for _, suffix in ipairs { "", ".br", ".gz" } do
    M.FILES[name .. suffix] = true
  end
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
local function match_query(wanted, args)
  local values = {}
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
  -- A long query is read once, however many rules ask for it.
  local best, match, captures, args
  for at = 1, matches do
    local numbers = numbers_of[at]
    for each = 1, #numbers do
      local number = numbers[each]
      if best and number >= best then
        break
      end
      local rule = index.rules[number]
      if (rule.force == true) == forced then
        args = args or rule.query and get_args()
        local values = rule.query and match_query(rule.query, args)
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

-- The headers that rules set, in the order of their numbers, and their size. Values of several rules are joined.
local function join_headers(index, numbers)
  local values, names, order, bytes, set, steps = {}, {}, 0, 0, 0, 0
  for at = 1, #numbers do
    local list = index.rules[numbers[at]]
    for each = 1, #list do
      local name, value = list[each][1], list[each][2]
      local key = name:lower()
      steps = steps + 1
      if steps > MAX_HEADER_STEPS then
        return values, names, bytes
      elseif not value then
        values[key] = nil
      else
        set = set + 1
        bytes = bytes + #name + #value
        if set > MAX_HEADERS or bytes > MAX_HEADER_BYTES then
          return values, names, bytes
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
  return values, names, bytes
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
  local removed, seen, steps = {}, {}, 0
  for at = 1, #numbers do
    local list = index.rules[numbers[at]]
    for each = 1, #list do
      steps = steps + 1
      if steps > MAX_HEADER_STEPS then
        return removed
      end
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

local WEAK = { __mode = "k" }
-- Of each index: what its sets of rules say together, by their keys, and how many there are.
local decisions, decision_bytes = setmetatable({}, WEAK), 0

local function remember(index, key, decision, bytes)
  if decision_bytes + bytes > MAX_DECISION_BYTES then
    decisions, decision_bytes = setmetatable({}, WEAK), 0
  end
  local known = decisions[index]
  if not known or known.count >= MAX_DECISIONS then
    known = { count = 0, by_key = {} }
    decisions[index] = known
  end
  known.by_key[key], known.count = decision, known.count + 1
  decision_bytes = decision_bytes + bytes
end

-- The headers for a path: a table with `headers`, names and values in turn, `removed`, and `shared` if other origins may
-- read it.
-- What a set of rules says together is remembered: a site has many paths, but few sets of rules that match one.
local function decide_headers(index, path)
  local numbers, key = match_headers(index, path)
  if not numbers then
    return NO_HEADERS
  end
  local known = decisions[index]
  local decision = known and known.by_key[key]
  if not decision then
    local values, names, bytes = join_headers(index, numbers)
    decision = {
      headers = in_order(values, names),
      removed = find_removed(index, numbers, values),
      shared = values["access-control-allow-origin"] ~= nil,
    }
    remember(index, key, decision, DECISION_BYTES + bytes + #tostring(key))
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
