-- Reads the compiled rules of releases, `release-rules/<release>.json`, and keeps some of them in each worker.
--
-- Any customer writes rules, and decoding a large file keeps a worker busy for many milliseconds. So a site may have few
-- bytes read per second, and what is in use by others is neither forgotten nor refused because of it.
local M = {}

local MAX_FILE_BYTES = 3 * 2 ^ 20
-- The compiled rules that a worker keeps, in bytes of JSON. There are two generations of them: when the young one is
-- full, it becomes the old one, and what is asked for becomes young again. So what is in use stays.
local MAX_GENERATION_BYTES = 12 * 2 ^ 20
local MAX_REMEMBERED = 20000
-- How long a worker remembers that a release has no rules.
local NONE_SECONDS = 60
-- What a site may have read at once, and per second on average.
local SITE_BYTES, SITE_BYTES_PER_SECOND = 6 * 2 ^ 20, 128 * 2 ^ 10
-- What all sites may have read per second. Half of it is for sites that have had nothing read for a while, and small
-- files are always read.
local MAX_PER_SECOND, SMALL_BYTES = 8 * 2 ^ 20, 64 * 2 ^ 10

local young, old, young_bytes = {}, {}, 0
local none, spent_by
local second, read_in_second = 0, 0

local function keep(release, entry)
  if young_bytes + entry.bytes > MAX_GENERATION_BYTES then
    old, young, young_bytes = young, {}, 0
  end
  young[release] = entry
  young_bytes = young_bytes + entry.bytes
end

-- What a site has had read and has not been forgiven yet.
local function debt_of(site, now)
  local known = spent_by:get(site)
  return known and math.max(0, known.bytes - (now - known.at) * SITE_BYTES_PER_SECOND) or 0
end

-- Whether a file of this size may be read for the site now. If so, it is counted.
local function may_read(site, bytes, now)
  local this = math.floor(now)
  if second ~= this then
    second, read_in_second = this, 0
  end
  local debt = debt_of(site, now)
  local limit = debt == 0 and MAX_PER_SECOND or MAX_PER_SECOND / 2
  if debt + bytes > SITE_BYTES or bytes > SMALL_BYTES and read_in_second + bytes > limit then
    return false
  end
  read_in_second = read_in_second + bytes
  spent_by:set(site, { bytes = debt + bytes, at = now })
  return true
end

-- The content of a file; false if it may not be read now, nil if there is none.
local function read(path, site, now)
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local bytes = file:seek "end"
  local content
  if bytes and bytes <= MAX_FILE_BYTES then
    content = may_read(site, bytes, now) and file:seek "set" and file:read(bytes) or false
  end
  file:close()
  return content
end

-- The rules of a release of a site; false without any. Returns nil if too much was read for the site.
function M.of(release, directory, site)
  local entry = young[release]
  if entry then
    return entry.rules
  end
  entry = old[release]
  if entry then
    old[release] = nil
    keep(release, entry)
    return entry.rules
  end
  if not none then
    local lrucache = require "resty.lrucache"
    none, spent_by = lrucache.new(MAX_REMEMBERED), lrucache.new(MAX_REMEMBERED)
  end
  if none:get(release) then
    return false
  end
  local content = read(directory .. "/" .. release .. ".json", site, ngx.now())
  if content == false then
    return nil
  end
  local rules = content and require("cjson.safe").decode(content)
  if type(rules) ~= "table" then
    none:set(release, true, NONE_SECONDS)
    return false
  end
  keep(release, { rules = rules, bytes = #content })
  return rules
end

return M
