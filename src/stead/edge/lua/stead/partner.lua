-- A firewall of another provider in front of a site. It proves with each request that it is the one that the owner of
-- the site has named, and says who the visitor is.
local addresses = require "stead.addresses"
local hop = require "stead.hop"

local M = {}
-- What the key signs, so that records contain a digest and not the key.
local CONTEXT = "stead waf partner"
local MAX_KEY = 200

local function to_hex(bytes)
  return (bytes:gsub(".", function(char) return string.format("%02x", char:byte()) end))
end

local function knows_key(partner, key)
  if key == partner.accepted then
    return true
  end
  local digest = key and #key <= MAX_KEY and hop.mac(key, CONTEXT)
  if not digest or not hop.equal(to_hex(digest), partner.digest) then
    return false
  end
  partner.accepted = key
  return true
end

-- The address of the visitor if the request came through the partner, or else nil.
function M.visitor(partner, client, key, forwarded_for)
  if client ~= partner.client or not knows_key(partner, key) then
    return nil
  end
  -- The last address is the one that the partner itself has seen.
  local last = (forwarded_for or ""):match "([^,%s]+)%s*$"
  return last and addresses.parse(last) and last or ""
end

return M
