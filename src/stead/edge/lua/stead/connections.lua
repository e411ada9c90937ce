-- Limits how many connections of a worker belong to one address, in whatever state they are: also those that have not
-- sent a request, which nginx's own limits do not count.
--
-- Once a second a worker looks at its sockets, but only if it has many. It shuts down those of an address that exceed
-- the limit. Other edges of the region are exempt: their connections belong to many visitors.
local ffi = require "ffi"
local records = require "stead.records"

ffi.cdef [[
struct stead_address { uint16_t family; uint16_t port; uint8_t four[4]; uint8_t six[16]; uint8_t rest[104]; };
int stead_getpeername(int, struct stead_address *, uint32_t *) __asm__("getpeername");
int stead_shutdown(int, int) __asm__("shutdown");
int stead_dup(int) __asm__("dup");
int stead_close(int) __asm__("close");
]]

local C = ffi.C
local INET, INET6, BOTH = 2, 10, 2
local EVERY_SECONDS = 1
-- After so many unused numbers in a row there are no further sockets.
local MAX_GAP = 256
local MAPPED = ("\0"):rep(10) .. "\255\255"

local M = { max = 512 }
local peer, size = ffi.new "struct stead_address", ffi.new "uint32_t[1]"

-- The bytes of the other side's IP address; empty for a connected socket of another kind, nil for everything else.
local function remote(fd)
  size[0] = ffi.sizeof(peer)
  if C.stead_getpeername(fd, peer, size) ~= 0 then
    return nil
  elseif peer.family == INET then
    return ffi.string(peer.four, 4)
  elseif peer.family == INET6 then
    local bytes = ffi.string(peer.six, 16)
    return bytes:sub(1, 12) == MAPPED and bytes:sub(13) or bytes
  end
  return ""
end

-- Whoever has an IPv6 address has the whole network of it.
local function owner(bytes)
  return #bytes == 16 and bytes:sub(1, 8) or bytes
end

-- The lowest unused number: about the number of sockets, since new ones use the lowest.
local function lowest_unused()
  local fd = C.stead_dup(0)
  if fd < 0 then
    return math.huge
  end
  C.stead_close(fd)
  return fd
end

-- Shuts down the connections above the limit, and returns their number.
function M.check()
  if lowest_unused() <= M.max then
    return 0
  end
  local counts, closed, gap, fd = {}, 0, 0, 2
  while gap < MAX_GAP do
    fd = fd + 1
    local bytes = remote(fd)
    gap = bytes and 0 or gap + 1
    if bytes and bytes ~= "" and not records.is_peer_address(bytes) then
      local who = owner(bytes)
      local count = (counts[who] or 0) + 1
      counts[who] = count
      if count > M.max then
        C.stead_shutdown(fd, BOTH)
        closed = closed + 1
      end
    end
  end
  if closed > 0 then
    ngx.log(ngx.WARN, "closed ", closed, " connections of addresses that had more than ", M.max)
  end
  return closed
end

function M.watch()
  assert(ngx.timer.every(EVERY_SECONDS, function(premature)
    if not premature then
      M.check()
    end
  end))
end

return M
