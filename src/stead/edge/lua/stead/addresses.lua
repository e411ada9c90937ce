-- Addresses and networks: parsing them, and matching an address against a list of networks.
local bit = require "bit"

local byte, char, sub, find, gmatch = string.byte, string.char, string.sub, string.find, string.gmatch
local MAPPED = ("\0"):rep(10) .. "\255\255"

local M = {}

local function v4(text)
  local a, b, c, d = text:match "^(%d%d?%d?)%.(%d%d?%d?)%.(%d%d?%d?)%.(%d%d?%d?)$"
  if not a then
    return nil
  end
  local parts = { a, b, c, d }
  for at = 1, 4 do
    local part = parts[at]
    -- Some programs read 010 as octal, so leading zeros are refused.
    if (#part > 1 and byte(part) == 48) or tonumber(part) > 255 then
      return nil
    end
  end
  return char(tonumber(a), tonumber(b), tonumber(c), tonumber(d))
end

local function groups(text)
  if text == "" then
    return ""
  end
  local out = {}
  for group, colon in gmatch(text, "([^:]*)(:?)") do
    if group == "" and colon == "" then
      break
    end
    local last = colon == ""
    if last and find(group, ".", 1, true) then
      local four = v4(group)
      if not four then
        return nil
      end
      out[#out + 1] = four
    elseif group:match "^%x%x?%x?%x?$" then
      local value = tonumber(group, 16)
      out[#out + 1] = char(bit.rshift(value, 8), bit.band(value, 255))
    else
      return nil
    end
    if last then
      return table.concat(out)
    end
  end
  -- The text ended with a colon.
  return nil
end

local function v6(text)
  if find(text, "[^%x:%.]") then
    return nil
  end
  local at = find(text, "::", 1, true)
  if not at then
    local whole = groups(text)
    return whole and #whole == 16 and whole or nil
  end
  local head, tail = sub(text, 1, at - 1), sub(text, at + 2)
  -- A dotted IPv4 address may only be at the end.
  if find(tail, "::", 1, true) or find(head, ".", 1, true) then
    return nil
  end
  local first, last = groups(head), groups(tail)
  if not first or not last or #first + #last > 14 then
    return nil
  end
  return first .. ("\0"):rep(16 - #first - #last) .. last
end

-- Returns four or sixteen bytes, or nil. An IPv4-mapped IPv6 address counts as IPv4.
function M.parse(text)
  if #text > 45 then
    return nil
  end
  local four = v4(text)
  if four then
    return four
  end
  local sixteen = v6(text)
  if sixteen and sub(sixteen, 1, 12) == MAPPED then
    return sub(sixteen, 13)
  end
  return sixteen
end

-- The first `length` bits; the rest of the last byte is zero.
local function masked(bytes, length)
  local whole = bit.rshift(length, 3)
  local rest = bit.band(length, 7)
  if rest == 0 then
    return sub(bytes, 1, whole)
  end
  local last = bit.band(byte(bytes, whole + 1), bit.lshift(255, 8 - rest))
  return sub(bytes, 1, whole) .. char(bit.band(last, 255))
end

local function network(text)
  local address, length = text:match "^([^/]+)/(%d%d?%d?)$"
  local bytes = M.parse(address or text)
  if not bytes then
    return nil
  end
  local most = #bytes * 8
  if not length then
    return bytes, most
  end
  length = tonumber(length)
  if #bytes == 4 and find(address, ":", 1, true) then
    length = length - 96
  end
  if length < 0 or length > most then
    return nil
  end
  return bytes, length
end

-- Compiles a list so that matching needs one look-up for each prefix length, however many networks there are.
function M.compile(list)
  local by_length, steps = {}, {}
  for _, text in ipairs(list) do
    local bytes, length = network(text)
    if bytes then
      local kind = #bytes * 1000 + length
      if not by_length[kind] then
        by_length[kind] = {}
        steps[#steps + 1] = { size = #bytes, length = length, prefixes = by_length[kind] }
      end
      by_length[kind][masked(bytes, length)] = true
    end
  end
  return steps
end

function M.contains(compiled, text)
  local bytes = M.parse(text)
  if not bytes then
    return false
  end
  for at = 1, #compiled do
    local step = compiled[at]
    if step.size == #bytes and step.prefixes[masked(bytes, step.length)] then
      return true
    end
  end
  return false
end

-- The key for counting requests of one client: an IPv6 client has at least 2^64 addresses, so its /64 network.
function M.client_key(text)
  local bytes = M.parse(text)
  if bytes and #bytes == 16 then
    return masked(bytes, 64)
  end
  return bytes or text
end

return M
