-- Failed sign-ins: after a few, an address may not try for a while.
local addresses = require "stead.addresses"

local byte, find = string.byte, string.find
local failures = ngx.shared.lockout
local M = {}
local LOGIN, SLASH = "/wp-login.php", 47

M.MOST = 5
M.SECONDS = 900

function M.is_login(uri)
  local _, last = find(uri, LOGIN, 1, true)
  if not last then
    return false
  end
  -- What follows the name of a script is for the script.
  local after = byte(uri, last + 1)
  return after == nil or after == SLASH
end

local function key(environment, address)
  return environment .. "\n" .. addresses.owner(address)
end

function M.locked(environment, address)
  return (failures:get(key(environment, address)) or 0) >= M.MOST
end

-- WordPress sends whoever signed in on to another page, and shows the form again to all others.
function M.note(environment, address, status)
  local name = key(environment, address)
  if status >= 300 and status < 400 then
    if not M.locked(environment, address) then
      failures:delete(name)
    end
  elseif status < 500 then
    local count = failures:incr(name, 1, 0, M.SECONDS)
    if count == M.MOST then
      failures:expire(name, M.SECONDS)
    end
  end
end

return M
