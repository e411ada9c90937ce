-- The records of the region in shared memory, and a cache of decoded records in each worker.
--
-- A worker reads one number for each request. Only when it has changed, it reads the records of the host again, and
-- only if they differ, it decodes them.
local cjson = require "cjson.safe"
local lrucache = require "resty.lrucache"
local lines = require "stead.lines"
local views = require "stead.views"
local redirects = require "stead.redirects"
local pagecache = require "stead.pagecache"
local addresses = require "stead.addresses"

local shared = ngx.shared
local state, records, rules, certificates, purges =
  shared.state, shared.records, shared.redirects, shared.certificates, shared.purges
local split, join = lines.split, lines.join

local M = {}

local MAX_VIEWS = 20000
-- Longer than a response of the store may take, so that a late response does not restore a deleted record.
local TOMBSTONE_SECONDS = 60
-- The old redirects of a site are kept until the record that names the new version has arrived.
local OLD_RULES_SECONDS = 600
local PURGE_SECONDS = 2592000 + 86400

local cache = lrucache.new(MAX_VIEWS)

local function generation()
  return state:get("generation")
end
M.generation = generation

-- Returns whether the record may be replaced, and its current content.
local function older(dict, key, revision)
  local raw = dict:get(key)
  if not raw then
    return true, nil
  end
  local known, content = split(raw)
  return known < revision, content
end

local function full(name, problem)
  return nil, { dict = name, problem = problem }
end

local function put(dict, name, key, revision, content, missing_only)
  local raw = join(revision, content)
  local ok, problem
  if missing_only then
    ok, problem = dict:safe_add(key, raw)
    if problem == "exists" then
      return true
    end
  elseif content == "" then
    ok, problem = dict:safe_set(key, raw, TOMBSTONE_SECONDS)
  else
    ok, problem = dict:safe_set(key, raw)
  end
  if not ok then
    return full(name, problem)
  end
  return true
end

local kinds = {}

-- Marks a host with a certificate, after the name of its environment.
local TLS = " tls"

function kinds.host(name, revision, value, missing_only)
  local key = "h:" .. name
  local newer, was = older(records, key, revision)
  if not newer then
    return true
  end
  local content = value and value.environment .. (value.https and TLS or "") or ""
  local ok, problem = put(records, "records", key, revision, content, missing_only)
  if ok then
    local before, after = was and was ~= "" and 1 or 0, content ~= "" and 1 or 0
    if before ~= after then
      state:incr("hosts", after - before, 0)
    end
  end
  return ok, problem
end

local function plain(prefix, dict, dict_name)
  return function(name, revision, value, missing_only)
    local key = prefix .. name
    if not older(dict, key, revision) then
      return true
    end
    return put(dict, dict_name, key, revision, value and cjson.encode(value) or "", missing_only)
  end
end

kinds.environment = plain("e:", records, "records")
kinds.challenge = plain("c:", records, "records")
kinds.certificate = plain("", certificates, "certificates")

function kinds.node(name, revision, value)
  local ok, problem = plain("n:", records, "records")(name, revision, value)
  if not ok then
    return ok, problem
  end
  -- One list of all peers, so that a worker can quickly decide whether an address is a peer's.
  local peers = cjson.decode(records:get("peers") or "{}")
  peers[name] = value and value.address or nil
  ok, problem = records:safe_set("peers", cjson.encode(peers))
  if not ok then
    return full("records", problem)
  end
  return true
end

function kinds.redirects(name, revision, value)
  local key = "p:" .. name
  local newer, was = older(rules, key, revision)
  if not newer then
    return true
  end
  local site = name:match "^[^.]*"
  local old = was and was ~= "" and cjson.decode(was)
  if value then
    local base = redirects.base(site, value.version)
    for _, rule in ipairs(value.rules) do
      local ok, problem = rules:safe_set(base .. rule[1], rule[2], 0, rule[3])
      if not ok then
        return full("redirects", problem)
      end
    end
  end
  local ok, problem = put(rules, "redirects", key, revision, value and cjson.encode(value) or "")
  if ok and old and not (value and value.version == old.version) then
    local base = redirects.base(site, old.version)
    for _, rule in ipairs(old.rules) do
      rules:expire(base .. rule[1], OLD_RULES_SECONDS)
    end
  end
  return ok, problem
end

local function raise(key, revision)
  if (purges:get(key) or 0) >= revision then
    return true
  end
  local ok, problem = purges:safe_set(key, revision, PURGE_SECONDS)
  if not ok then
    return full("purges", problem)
  end
  return true
end

function kinds.purge(name, revision, value)
  if not value then
    -- A purge expires only when no older page is in the cache.
    return true
  end
  local environment = value.environment
  -- The number of the environment is raised first, so that a request that sees the purge fetches under a new key.
  local ok, problem = raise("s:" .. environment, revision)
  if not ok then
    return ok, problem
  end
  if value.url then
    return raise("u:" .. environment .. ":" .. pagecache.target(value.url), revision)
  elseif value.tag then
    return raise("t:" .. environment .. ":" .. value.tag, revision)
  end
  return raise("a:" .. environment, revision)
end

local function apply_one(text, missing_only)
  local line = cjson.decode(text)
  local take = type(line) == "table" and kinds[line.kind]
  if not take or type(line.name) ~= "string" or type(line.revision) ~= "number" then
    return nil, { malformed = true }
  end
  local value = line.value
  if value == cjson.null or value == nil then
    value = nil
  elseif type(value) ~= "table" then
    return nil, { malformed = true }
  end
  local fine, ok, problem = pcall(take, line.name, line.revision, value, missing_only)
  if not fine then
    return nil, { malformed = true }
  end
  return ok, problem, line.revision
end

-- Applies every line of the text, and stops at the first error. With `missing_only` existing records are kept: a
-- response of the store may be older than what the feed has sent meanwhile.
function M.apply(text, missing_only)
  local highest, count, failure = 0, 0, nil
  for line in text:gmatch "[^\n]+" do
    local ok, problem, revision = apply_one(line, missing_only)
    if not ok then
      problem.line = count + 1
      failure = problem
      break
    end
    count = count + 1
    if revision > highest then
      highest = revision
    end
  end
  if not missing_only and highest > (state:get("revision") or 0) then
    state:safe_set("revision", highest)
  end
  state:incr("generation", 1, 0)
  return failure == nil, failure
end

local function content(dict, key)
  local raw = dict:get(key)
  if not raw then
    return nil, false
  end
  local _, text = split(raw)
  return text ~= "" and text or nil, true
end

-- Returns the view of a host. Without one, returns nil and whether the host is known not to exist.
function M.view(host)
  local now = state:get("generation")
  local entry = cache:get(host)
  if entry and entry.generation == now then
    return entry.view
  end
  local target, known = content(records, "h:" .. host)
  if not target then
    cache:delete(host)
    return nil, known
  end
  local secure = target:sub(-#TLS) == TLS
  local environment = secure and target:sub(1, -#TLS - 1) or target
  local raw = records:get("e:" .. environment)
  if not raw then
    return nil, false
  end
  if entry and entry.target == target and entry.raw == raw then
    entry.generation = now
    return entry.view
  end
  local _, text = split(raw)
  if text == "" then
    return nil, true
  end
  local view = views.make(environment, cjson.decode(text), require("stead.node").id, secure)
  cache:set(host, { generation = now, target = target, raw = raw, view = view })
  return view
end

function M.certificate(host)
  return certificates:get(host)
end

function M.challenge(token)
  local text = content(records, "c:" .. token)
  return text and cjson.decode(text)
end

function M.peer(node)
  local text = content(records, "n:" .. node)
  local record = text and cjson.decode(text)
  return record and record.address
end

local peers = { generation = -1, raw = nil, addresses = {} }

-- Returns whether the address belongs to another edge of the region.
function M.is_peer(address)
  local now = state:get("generation")
  if peers.generation ~= now then
    local raw = records:get("peers")
    if raw ~= peers.raw then
      local known = {}
      for _, where in pairs(cjson.decode(raw or "{}")) do
        local name = where:match "^%[(.+)%]:%d+$" or where:match "^(.+):%d+$"
        local bytes = name and addresses.parse(name)
        if bytes then
          known[bytes] = true
        end
      end
      peers.raw, peers.addresses = raw, known
    end
    peers.generation = now
  end
  local bytes = addresses.parse(address)
  return bytes ~= nil and peers.addresses[bytes] == true
end

function M.rule(key)
  return rules:get(key)
end

function M.purged(key)
  return purges:get(key)
end

function M.complete()
  return state:get("complete") == true
end

return M
