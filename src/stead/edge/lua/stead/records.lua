-- The records of the region in shared memory, and a cache of decoded records in each worker.
--
-- A worker reads one number for each request. Only when it has changed, it reads the records of the host again, and
-- only if they differ, it decodes them.
--
-- All tenants share the memory. A record that does not fit is skipped and reported, and the next one is applied.
-- Certificates are a cache of the node's store: the least recently used is evicted.
local cjson = require "cjson.safe"
local lrucache = require "resty.lrucache"
local lines = require "stead.lines"
local views = require "stead.views"
local redirects = require "stead.redirects"
local pagecache = require "stead.pagecache"
local addresses = require "stead.addresses"

local shared = ngx.shared
local state, records, rules, certificates, purges, misses =
  shared.state, shared.records, shared.redirects, shared.certificates, shared.purges, shared.misses
local split, join, sub, find = lines.split, lines.join, string.sub, string.find

local M = {}

local MAX_VIEWS = 20000
-- Longer than a response of the store may take, so that a late response does not restore a deleted record.
local TOMBSTONE_SECONDS = 60
-- The old redirects of a site are kept until the record that names the new version has arrived.
local OLD_RULES_SECONDS = 600
-- A permanent host is looked up again after this time.
local PERMANENT_HOST_SECONDS = 600
local PURGE_SECONDS = 2592000 + 86400
-- An environment with more purged URLs and tags than this has all its pages purged instead.
local MAX_PURGES = 256
-- This part of the memory is only for purges of whole environments.
local RESERVED = 1 / 4
-- The number of a purge by a record is its revision times this. The numbers between are for purges by the node itself,
-- which have no record.
local PURGE_STEP = 2 ^ 20

local cache = lrucache.new(MAX_VIEWS)

-- Returns whether the record may be replaced, its current content, and its current value in memory.
local function older(dict, key, revision)
  local raw = dict:get(key)
  if not raw then
    return true, nil, nil
  end
  local known, content = split(raw)
  return known < revision, content, raw
end

local function full(name)
  return nil, { dict = name }
end

-- A failed write removes the old value, so `before` is restored if the record does not fit.
local function put(dict, name, key, revision, content, missing_only, before, seconds)
  local raw = join(revision, content)
  local ok, problem
  if missing_only then
    ok, problem = dict:safe_add(key, raw, seconds or 0)
    if problem == "exists" then
      return true
    end
  elseif content == "" then
    ok = dict:safe_set(key, raw, TOMBSTONE_SECONDS)
  else
    ok = dict:safe_set(key, raw)
  end
  if ok then
    return true
  elseif content == "" then
    -- Without room for a tombstone, the record is deleted nevertheless.
    dict:delete(key)
    return true
  end
  if before then
    dict:safe_set(key, before)
  end
  return full(name)
end

local kinds = {}

-- Marks a host with a certificate, after the name of its environment.
local TLS = " tls"
-- Precedes the host that visitors are redirected to, between the two.
local TO = " to "
-- Precedes the release that a permanent host always shows. It has none of the other two.
local AT = " at "

-- The permanent host of a deployment. Most of them are never visited, so the feed only says that there is one. It is
-- looked up when a visitor comes, and kept for a while.
local function put_permanent(name, key, revision, value, missing_only)
  if not missing_only then
    misses:delete("host/" .. name)
    return true
  end
  return put(records, "records", key, revision, value.environment .. AT .. value.release, true, nil,
    PERMANENT_HOST_SECONDS)
end

function kinds.host(name, revision, value, missing_only)
  local key = "h:" .. name
  local newer, was, before = older(records, key, revision)
  if not newer then
    return true
  elseif value and (not value.environment or (value.release or "") ~= "") then
    return put_permanent(name, key, revision, value, missing_only)
  elseif not value and (not was or find(was, AT, 1, true)) then
    -- Permanent hosts are not counted.
    return put(records, "records", key, revision, "", missing_only, before)
  end
  local content = ""
  if value then
    local to = value.redirect_to and value.redirect_to ~= "" and TO .. value.redirect_to or ""
    content = value.environment .. to .. (value.https and TLS or "")
  end
  local ok, problem = put(records, "records", key, revision, content, missing_only, before)
  if ok then
    local had, has = was and was ~= "" and 1 or 0, content ~= "" and 1 or 0
    if had ~= has then
      state:incr("hosts", has - had, 0)
    end
  end
  return ok, problem
end

local function plain(prefix)
  return function(name, revision, value, missing_only)
    local key = prefix .. name
    local newer, _, before = older(records, key, revision)
    if not newer then
      return true
    end
    return put(records, "records", key, revision, value and cjson.encode(value) or "", missing_only, before)
  end
end

kinds.challenge = plain "c:"
local put_environment, put_node = plain "e:", plain "n:"

-- Deletes the purges of single URLs and tags of an environment.
local function forget_purges(environment)
  local list = "l:" .. environment
  local key = purges:lpop(list)
  while key do
    purges:delete(key)
    key = purges:lpop(list)
  end
end

function kinds.environment(name, revision, value, missing_only)
  if not value then
    forget_purges(name)
  end
  return put_environment(name, revision, value, missing_only)
end

-- A line without a chain has only the revision of a certificate: an older one is deleted, and the new one is looked up
-- when a visitor needs it.
function kinds.certificate(name, revision, value, missing_only)
  local newer, was = older(certificates, name, revision)
  if not newer then
    return true
  end
  if missing_only then
    certificates:add(name, join(revision, cjson.encode(value)))
    return true
  end
  if value and not value.chain then
    if not was then
      return true
    end
    certificates:delete(name)
  elseif value then
    certificates:set(name, join(revision, cjson.encode(value)))
  else
    certificates:set(name, join(revision, ""), TOMBSTONE_SECONDS)
  end
  state:incr("certificates", 1, 0)
  return true
end

function kinds.node(name, revision, value)
  local ok, problem = put_node(name, revision, value)
  if not ok then
    return ok, problem
  end
  -- One list of all peers, so that a worker can quickly decide whether an address is a peer's.
  local peers = cjson.decode(records:get("peers") or "{}")
  peers[name] = value and value.address or nil
  if not records:safe_set("peers", cjson.encode(peers)) then
    return full "records"
  end
  return true
end

local function remove_rules(base, paths, count)
  for at = 1, count or #paths do
    rules:delete(base .. paths[at])
  end
end

-- Sets all rules, or none of them.
local function set_rules(base, list, paths)
  for at, rule in ipairs(list) do
    paths[at] = rule[1]
    if not rules:safe_set(base .. rule[1], rule[2], 0, rule[3]) then
      remove_rules(base, paths, at)
      return false
    end
  end
  return true
end

-- Two versions of a part are kept: visitors are redirected by the old one until the record of the environment names the
-- new one.
function kinds.redirects(name, revision, value)
  local key, old_key = "p:" .. name, "o:" .. name
  local newer, was, before = older(rules, key, revision)
  if not newer then
    return true
  end
  local site = name:match "^[^.]*"
  local current = was and was ~= "" and cjson.decode(was)
  local replaced = current and not (value and value.version == current.version)
  if replaced then
    local oldest = cjson.decode(rules:get(old_key) or "null")
    if type(oldest) == "table" then
      remove_rules(redirects.base(site, oldest.version), oldest.paths)
      rules:delete(old_key)
    end
  end
  local content = ""
  if value then
    local base, paths = redirects.base(site, value.version), {}
    if not set_rules(base, value.rules, paths) then
      return full "redirects"
    end
    content = cjson.encode { version = value.version, paths = paths }
    local ok, problem = put(rules, "redirects", key, revision, content, false, before)
    if not ok then
      remove_rules(base, paths)
      return ok, problem
    end
  else
    put(rules, "redirects", key, revision, content)
  end
  if replaced then
    local base = redirects.base(site, current.version)
    for _, path in ipairs(current.paths) do
      rules:expire(base .. path, OLD_RULES_SECONDS)
    end
    rules:safe_set(old_key, was, OLD_RULES_SECONDS)
  end
  return true
end

local function raise(key, revision)
  if (purges:get(key) or 0) >= revision then
    return true
  end
  return purges:safe_set(key, revision, PURGE_SECONDS)
end

-- Keys of URLs and tags have a fixed size.
local function purge_key(key)
  local kind = sub(key, 1, 2)
  return (kind == "u:" or kind == "t:") and kind .. ngx.md5_bin(key) or key
end

-- Records the purge of one URL or tag. Returns false if the environment has too many, or if the memory is nearly full.
local function note(environment, key, revision)
  key = purge_key(key)
  if purges:get(key) then
    return raise(key, revision)
  end
  local list = "l:" .. environment
  if (purges:llen(list) or 0) >= MAX_PURGES or purges:free_space() < RESERVED * purges:capacity() then
    return false
  elseif not raise(key, revision) then
    return false
  elseif not purges:rpush(list, key) then
    purges:delete(key)
    return false
  end
  return true
end

-- Purges all pages of an environment. Returns false if the memory is full.
local function purge_all(environment, number)
  if not raise("a:" .. environment, number) then
    return false
  end
  forget_purges(environment)
  return true
end

function kinds.purge(name, revision, value)
  if not value then
    -- A purge expires only when no older page is in the cache.
    return true
  end
  local environment = value.environment
  local latest = "s:" .. environment
  local number = revision * PURGE_STEP
  if revision > (state:get("revision") or 0) then
    -- It is new: pages may have been fetched since any number of purges by the node.
    number = math.max(number, (purges:get(latest) or 0) + 1)
  end
  if (purges:get("a:" .. environment) or 0) >= number then
    return true
  end
  -- The number of the environment is raised first, so that a request that sees the purge fetches under a new key.
  if not raise(latest, number) then
    return full "purges"
  end
  local key = value.url and "u:" .. environment .. ":" .. pagecache.target(value.url)
    or value.tag and "t:" .. environment .. ":" .. value.tag
  if key and note(environment, key, number) then
    return true
  end
  -- Single pages may have been purged later than this revision.
  if not purge_all(environment, purges:get(latest) or number) then
    return full "purges"
  end
  return true
end

-- A purge by the node itself, which has no record: of pages with one of the tags, or without tags of all pages. It is
-- forgotten together with the cache. Returns false if the memory is full.
function M.purge(environment, tags)
  local latest = "s:" .. environment
  purges:safe_add(latest, 0, PURGE_SECONDS)
  local number = purges:incr(latest, 1)
  if not number then
    return false
  end
  purges:expire(latest, PURGE_SECONDS)
  for at = 1, tags and #tags or 0 do
    if not note(environment, "t:" .. environment .. ":" .. tags[at], number) then
      tags = nil
      break
    end
  end
  return tags ~= nil or purge_all(environment, number)
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
  return ok, problem, line.revision, line.kind
end

-- Applies every line of the text, and stops at a malformed one. Returns the lines that were skipped for lack of memory,
-- and the number of the malformed line. With `missing_only` existing records are kept: a response of the store may be
-- older than what the feed has sent meanwhile.
function M.apply(text, missing_only)
  local highest, count, skipped, malformed, changed = 0, 0, {}, nil, false
  for line in text:gmatch "[^\n]+" do
    local ok, problem, revision, kind = apply_one(line, missing_only)
    count = count + 1
    if not ok and problem.malformed then
      malformed = count
      break
    elseif not ok then
      skipped[#skipped + 1] = { line = count, dict = problem.dict }
      if problem.dict == "records" then
        state:safe_set("hosts_skipped", true)
      end
    end
    -- No view depends on certificates, which have a number of their own.
    changed = changed or kind ~= "certificate"
    if revision > highest then
      highest = revision
    end
  end
  if not missing_only and highest > (state:get("revision") or 0) then
    state:safe_set("revision", highest)
  end
  if changed then
    state:incr("generation", 1, 0)
  end
  return skipped, malformed
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
  local rest = secure and target:sub(1, -#TLS - 1) or target
  local environment, word, what = rest:match "^(%S+) (%a+) (%S+)$"
  environment = environment or rest
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
  local record = cjson.decode(text)
  if word == "at" and type(record) == "table" then
    record = views.permanent(record, what)
  end
  local node = require "stead.node"
  -- Permanent hosts have no certificates of their own.
  local is_secure = secure or (word == "at" and node.has_preview_certificate)
  local view = views.make(environment, record, node.id, is_secure)
  view.redirect_to = word == "to" and what or nil
  cache:set(host, { generation = now, target = target, raw = raw, view = view })
  return view
end

local PERMANENT = "^" .. ("%w"):rep(26) .. "%-%-"

-- Whether the name is that of a permanent host: the 26 characters of a deployment's id, two hyphens, and the site.
function M.is_permanent(host)
  return find(host, PERMANENT) ~= nil
end

-- The name of the wildcard that a host is directly below; nil for a host that is below none. The label is that of the
-- keys of records, in which no asterisk can be.
function M.wildcard_of(host)
  local dot = find(host, ".", 1, true)
  if dot and find(host, ".", dot + 1, true) then
    return "_wildcard" .. sub(host, dot)
  end
end

-- Whether a host that is not in memory has no record of its own: all records of the region are here, and all of them
-- fitted. Permanent hosts are never all here, but none of them is below a wildcard.
function M.has_all_hosts()
  return state:get("complete") == true and not state:get("hosts_skipped")
end

function M.certificate(host)
  return certificates:get(host)
end

-- A number that grows whenever a certificate is renewed or deleted.
function M.certificates_changed()
  return state:get("certificates")
end

-- Whether the host has a record of its own, and not only had one.
function M.is_host(host)
  return content(records, "h:" .. host) ~= nil
end

-- Whether there is a record of this host, also of one that was deleted lately.
function M.has_host(host)
  return records:get("h:" .. host) ~= nil
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

local function peer_addresses()
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
  return peers.addresses
end

-- Whether another edge of the region has this address, given as text.
function M.is_peer(address)
  local bytes = addresses.parse(address)
  return bytes ~= nil and peer_addresses()[bytes] == true
end

-- The same for an address given as four or sixteen bytes.
function M.is_peer_address(bytes)
  return peer_addresses()[bytes] == true
end

function M.rule(key)
  return rules:get(key)
end

function M.purged(key)
  return purges:get(purge_key(key))
end

function M.complete()
  return state:get("complete") == true
end

return M
