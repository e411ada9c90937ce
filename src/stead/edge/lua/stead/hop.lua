-- Signs what an edge says about a visitor whom it forwards to another edge, and verifies it there.
--
-- Builds and sites send traffic from the addresses of nodes, so an address does not prove that a request comes from an
-- edge. The signature is made with a key that only the edges of the region have. It covers the request, the visitor,
-- the node that the request is for, and the time.
local bit = require "bit"
local ffi = require "ffi"
local node = require "stead.node"

-- Under names of our own: another module may have declared them differently.
ffi.cdef [[
const void *stead_sha256(void) __asm__("EVP_sha256");
unsigned char *stead_hmac(const void *, const void *, int, const unsigned char *, size_t, unsigned char *,
  unsigned int *) __asm__("HMAC");
]]

local state = ngx.shared.state
local concat, byte, match = table.concat, string.byte, string.match
local tonumber, abs = tonumber, math.abs

local M = {}
local MAX_SKEW_SECONDS = 60
local DIGEST_BYTES = 32
local digest, size = ffi.new("unsigned char[?]", DIGEST_BYTES), ffi.new "unsigned int[1]"
local known = { text = nil, keys = {} }

local function from_hex(text)
  return (text:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

-- The first key signs; all of them verify, so that a key can be replaced while edges run.
local function keys()
  local text = state:get("hop_keys")
  if text ~= known.text then
    local found = {}
    for key in (text or ""):gmatch "%x+" do
      found[#found + 1] = from_hex(key)
    end
    known.text, known.keys = text, found
  end
  return known.keys
end

-- The keys for the cookies of protected previews: that of the node, which no other node has, so that cookies survive a
-- restart of nginx. A node without a key of its own uses those of the region, or one that only this nginx has.
function M.access_keys()
  local own = state:get("preview_key")
  if own then
    return { own }
  end
  local found = keys()
  return found[1] and found or { state:get("access_key") }
end

function M.mac(key, text)
  if ffi.C.stead_hmac(ffi.C.stead_sha256(), key, #key, text, #text, digest, size) == nil then
    return nil
  end
  return ffi.string(digest, DIGEST_BYTES)
end

-- In a time that does not depend on where they differ.
function M.equal(a, b)
  if #a ~= #b then
    return false
  end
  local difference = 0
  for at = 1, #a do
    difference = bit.bor(difference, bit.bxor(byte(a, at), byte(b, at)))
  end
  return difference == 0
end

-- None of the parts can contain a line feed.
local function statement(at, receiver, visitor, scheme)
  local var = ngx.var
  return concat({ "1", at, receiver, var.request_method, var.host, var.request_uri, visitor, scheme }, "\n")
end

-- The value of X-Stead-Signature for the edge of another node; empty without a key.
function M.sign(receiver, visitor, scheme)
  local key = keys()[1]
  local at = tostring(ngx.time())
  local made = key and M.mac(key, statement(at, receiver, visitor, scheme))
  return made and at .. "-" .. ngx.encode_base64(made) or ""
end

function M.verify(signature, visitor, scheme)
  local at, encoded = match(signature or "", "^(%d+)-([%w+/=]+)$")
  if not at or #at > 12 or abs(ngx.time() - tonumber(at)) > MAX_SKEW_SECONDS then
    return false
  end
  local given = ngx.decode_base64(encoded)
  if not given then
    return false
  end
  local text = statement(at, node.id, visitor, scheme)
  for _, key in ipairs(keys()) do
    local made = M.mac(key, text)
    if made and M.equal(made, given) then
      return true
    end
  end
  return false
end

return M
