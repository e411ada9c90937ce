-- Looks up names in the node's record store, before a name counts as unknown. Look-ups are limited in time, per name
-- and in total, so that requests with random names cause little work.
local addresses = require "stead.addresses"
local node = require "stead.node"
local records = require "stead.records"

local misses = ngx.shared.misses
local M = {}

-- Long enough for a node that is busy: without an answer, a visitor gets no certificate.
local TIMEOUT_MILLISECONDS = 1000
local MISS_SECONDS = 1
-- Known names have a share of their own, so that random names cannot use it up. So have permanent hosts, which are only
-- known after a look-up, and a visitor may use a part of it.
local MAX_PER_SECOND = { known = 1000, permanent = 200, unknown = 200, visitor = 40 }
local MAX_RESPONSE_BYTES = 1024 * 1024

local function exchange(path)
  local socket = ngx.socket.tcp()
  socket:settimeout(TIMEOUT_MILLISECONDS)
  local ok = socket:connect("unix:" .. node.run .. "/store.sock")
  if not ok then
    return nil
  end
  -- HTTP/1.0, so that the server closes the connection after the response.
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
  if length and length > MAX_RESPONSE_BYTES then
    socket:close()
    return nil
  end
  local body = socket:receive(length or "*a")
  socket:close()
  return body and tonumber(status:match "^HTTP/1%.[01] (%d%d%d)"), body
end

local function share_of(kind, name)
  if kind == "certificate" and records.has_host(name) then
    return "known"
  end
  return kind == "host" and records.is_permanent(name) and "permanent" or "unknown"
end

local function is_too_many(share, limit)
  local asked = misses:incr(share .. ":" .. ngx.time(), 1, 0, 2)
  return asked and asked > limit
end

-- Returns "found", "unknown" or "unreachable". `kind` is host, certificate or challenge. `visitor` is the address of
-- whoever asks, if it is known and not that of another edge.
function M.ask(kind, name, visitor)
  if #name > 253 or not name:find "^[%w._-]+$" then
    return "unknown"
  end
  local key = kind .. "/" .. name
  local before = misses:get(key)
  if before then
    return before
  end
  local share = share_of(kind, name)
  local counted = share == "permanent" and visitor
  if counted and is_too_many("from " .. addresses.client_key(visitor), MAX_PER_SECOND.visitor) then
    return "unreachable"
  elseif is_too_many(share, MAX_PER_SECOND[share]) then
    return "unreachable"
  end
  local status, body = exchange("/" .. key)
  if status == 200 then
    local _, malformed = records.apply(body, true)
    return malformed and "unreachable" or "found"
  end
  local answer = status == 404 and "unknown" or "unreachable"
  misses:set(key, answer, MISS_SECONDS)
  return answer
end

return M
