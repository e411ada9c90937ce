-- Locks an address out for a while after several failed sign-ins.
local addresses = require "stead.addresses"

local byte, find = string.byte, string.find
local failures = ngx.shared.lockout
local M = {}
local LOGIN, SLASH = "/wp-login.php", 47

M.MAX_FAILURES = 5
M.SECONDS = 900

function M.is_login(uri)
  local _, last = find(uri, LOGIN, 1, true)
  if not last then
    return false
  end
  -- A path after the name of the script is passed to the script.
  local after = byte(uri, last + 1)
  return after == nil or after == SLASH
end

local function key(environment, address)
  return environment .. "\n" .. addresses.client_key(address)
end

function M.locked(environment, address)
  return (failures:get(key(environment, address)) or 0) >= M.MAX_FAILURES
end

-- Records a sign-in. WordPress redirects after a success, and shows the form again after a failure.
function M.note(environment, address, status)
  local name = key(environment, address)
  if status >= 300 and status < 400 then
    if not M.locked(environment, address) then
      failures:delete(name)
    end
  elseif status < 500 then
    local count = failures:incr(name, 1, 0, M.SECONDS)
    if count == M.MAX_FAILURES then
      failures:expire(name, M.SECONDS)
    end
  end
end

return M
