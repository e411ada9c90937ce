-- The node's own copy of all records, asked before anybody is told that a name is unknown. Asking is bounded:
-- in time, by name and in total, since whoever sends names at random must not keep us busy.
local node = require "stead.node"
local records = require "stead.records"

local misses = ngx.shared.misses
local M = {}

local MILLISECONDS = 200
local REMEMBERED = 1
local ASKED_A_SECOND = 200
local LONGEST_ANSWER = 1024 * 1024

local function exchange(path)
  local socket = ngx.socket.tcp()
  socket:settimeout(MILLISECONDS)
  local ok = socket:connect("unix:" .. node.run .. "/store.sock")
  if not ok then
    return nil
  end
  -- HTTP/1.0 and a closed connection: the answer ends where the bytes end.
  socket:send("GET " .. path .. " HTTP/1.0\r\nHost: store\r\n\r\n")
  local status = socket:receive "*l"
  if not status then
    socket:close()
    return nil
  end
  local length
  while true do
    local header = socket:receive "*l"
    if not header then
      socket:close()
      return nil
    end
    if header == "" then
      break
    end
    length = length or tonumber(header:lower():match "^content%-length:%s*(%d+)%s*$")
  end
  if length and length > LONGEST_ANSWER then
    socket:close()
    return nil
  end
  local body = socket:receive(length or "*a")
  socket:close()
  return body and tonumber(status:match "^HTTP/1%.[01] (%d%d%d)"), body
end

-- "found", "unknown" or "unreachable". `kind` is host, certificate or challenge.
function M.ask(kind, name)
  if #name > 253 or not name:find "^[%w._-]+$" then
    return "unknown"
  end
  local key = kind .. "/" .. name
  local before = misses:get(key)
  if before then
    return before
  end
  local asked = misses:incr("asked:" .. ngx.time(), 1, 0, 2)
  if asked and asked > ASKED_A_SECOND then
    return "unreachable"
  end
  local status, body = exchange("/" .. key)
  if status == 200 then
    return records.apply(body, true) and "found" or "unreachable"
  end
  local answer = status == 404 and "unknown" or "unreachable"
  misses:set(key, answer, REMEMBERED)
  return answer
end

return M
