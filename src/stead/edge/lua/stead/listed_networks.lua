-- The operator's list of networks that send attacks. The node writes it as a file of sorted ranges; each worker reads
-- the file again when its first line has changed.
local node = require "stead.node"

local sub, byte = string.sub, string.byte
local M = { count = 0 }
local EVERY_SECONDS = 2
local MAX_BYTES = 32 * 1024 * 1024
local MAPPED = ("\0"):rep(10) .. "\255\255"

local head, four, six = "", "", ""

local function path()
  return node.run .. "/listed-networks"
end

local function forget()
  M.count, head, four, six = 0, "", "", ""
end

-- The first line is `stead-networks <version> <ranges of IPv4> <ranges of IPv6>`. The ranges follow: first and last
-- address of each, in network order.
function M.load()
  local file = io.open(path(), "rb")
  if not file then
    return forget()
  end
  local line = file:read "*l" or ""
  if line ~= head then
    local fours, sixes = line:match "^stead%-networks %x+ (%d+) (%d+)$"
    local content = fours and file:read(MAX_BYTES) or ""
    if fours and #content == fours * 8 + sixes * 32 then
      four, six = sub(content, 1, fours * 8), sub(content, fours * 8 + 1)
      M.count, head = fours + sixes, line
    end
  end
  file:close()
end

function M.watch()
  M.load()
  assert(ngx.timer.every(EVERY_SECONDS, function(premature)
    if not premature then
      M.load()
    end
  end))
end

-- Whether one of the ranges contains the address, given as bytes.
local function contains(ranges, address)
  local size = #address
  local low, high = 0, #ranges / (2 * size) - 1
  while low <= high do
    local middle = math.floor((low + high) / 2)
    local at = middle * 2 * size
    if address < sub(ranges, at + 1, at + size) then
      high = middle - 1
    elseif address > sub(ranges, at + size + 1, at + 2 * size) then
      low = middle + 1
    else
      return true
    end
  end
  return false
end

function M.contains(address)
  if #address == 16 and byte(address) == 0 and sub(address, 1, 12) == MAPPED then
    address = sub(address, 13)
  end
  return contains(#address == 4 and four or six, address)
end

return M
