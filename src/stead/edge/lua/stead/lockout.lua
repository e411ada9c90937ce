-- Locks an address out for a while after several failed sign-ins.
--
-- All sites share the memory of the counters. None of them is evicted, and a site has only a limited number: an attacker
-- with many addresses cannot remove the counters of others. Further addresses of a site share counters, so that they
-- cannot try without limit either. The fuller the memory, the fewer counters a site has for itself.
local addresses = require "stead.addresses"

local byte, find = string.byte, string.find
local failures = ngx.shared.lockout
local M = {}
local LOGIN, SLASH = "/wp-login.php", 47

M.MAX_FAILURES = 5
M.SECONDS = 900
-- How many addresses of a site have a counter of their own: while the memory is at least this empty.
M.OWN_COUNTERS = { { 1 / 2, 512 }, { 1 / 4, 64 }, { 0, 0 } }
M.SHARED_COUNTERS = 16
M.MAX_SHARED_FAILURES = 50

function M.is_login(uri)
  local _, last = find(uri, LOGIN, 1, true)
  if not last then
    return false
  end
  -- A path after the name of the script is passed to the script.
  local after = byte(uri, last + 1)
  return after == nil or after == SLASH
end

local function own_key(environment, client)
  return environment .. "\n" .. client
end

local function shared_key(environment, client)
  return environment .. "\nshared " .. ngx.crc32_short(client) % M.SHARED_COUNTERS
end

local function max_own_counters()
  local free = failures:free_space() / failures:capacity()
  for _, step in ipairs(M.OWN_COUNTERS) do
    if free >= step[1] then
      return step[2]
    end
  end
end

-- Returns the key of the counter of this client, and its limit. Makes the counter if there is room for it.
local function counter(environment, client, make)
  local own = own_key(environment, client)
  if failures:get(own) then
    return own, M.MAX_FAILURES
  end
  local number = environment .. "\nnumber"
  if make and (failures:get(number) or 0) < max_own_counters() and failures:safe_add(number, 0, M.SECONDS) ~= nil
    and failures:safe_add(own, 0, M.SECONDS) then
    failures:incr(number, 1)
    return own, M.MAX_FAILURES
  end
  local shared = shared_key(environment, client)
  if make then
    failures:safe_add(shared, 0, M.SECONDS)
  end
  return shared, M.MAX_SHARED_FAILURES
end

function M.locked(environment, address)
  local key, limit = counter(environment, addresses.client_key(address), false)
  return (failures:get(key) or 0) >= limit
end

-- Records a sign-in. WordPress redirects after a success, and shows the form again after a failure.
function M.note(environment, address, status)
  local client = addresses.client_key(address)
  if status >= 300 and status < 400 then
    if not M.locked(environment, address) then
      -- Shared counters belong to others, too.
      failures:delete(own_key(environment, client))
    end
  elseif status < 500 then
    local key, limit = counter(environment, client, true)
    if failures:incr(key, 1) == limit then
      failures:expire(key, M.SECONDS)
    end
  end
end

return M
