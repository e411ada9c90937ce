-- Passwords and tokens for protected previews, verified with OpenSSL.
local ffi = require "ffi"
local hop = require "stead.hop"

-- Under names of our own: another module may have declared them differently.
ffi.cdef [[
int stead_pbkdf2(const char *, int, const unsigned char *, int, int, const void *, int, unsigned char *)
  __asm__("PKCS5_PBKDF2_HMAC");
void *stead_public_key(int, void *, const unsigned char *, size_t) __asm__("EVP_PKEY_new_raw_public_key");
void stead_free_key(void *) __asm__("EVP_PKEY_free");
void *stead_new_verification(void) __asm__("EVP_MD_CTX_new");
void stead_free_verification(void *) __asm__("EVP_MD_CTX_free");
int stead_begin_verification(void *, void **, const void *, void *, void *) __asm__("EVP_DigestVerifyInit");
int stead_verify(void *, const unsigned char *, size_t, const unsigned char *, size_t) __asm__("EVP_DigestVerify");
void stead_forget_errors(void) __asm__("ERR_clear_error");
]]

local M = {}
local ED25519, KEY_BYTES, SIGNATURE_BYTES, DIGEST_BYTES = 1087, 32, 64, 32
local MAX_ITERATIONS, MAX_TOKEN_SECONDS = 200000, 300
local spent = ngx.shared.misses

local function from_hex(text)
  return (text:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

-- From base64 in the alphabet for URLs, without padding; nil if it is not.
function M.decode(text)
  return ngx.decode_base64(text:gsub("[-_]", { ["-"] = "+", ["_"] = "/" }) .. ("="):rep(-#text % 4))
end

function M.is_password(protection, password)
  local iterations = protection.iterations
  if #protection.digest ~= 2 * DIGEST_BYTES or iterations < 1 or iterations > MAX_ITERATIONS then
    return false
  end
  local salt, made = from_hex(protection.salt), ffi.new("unsigned char[?]", DIGEST_BYTES)
  local ok = ffi.C.stead_pbkdf2(password, #password, salt, #salt, iterations, ffi.C.stead_sha256(), DIGEST_BYTES, made)
  return ok == 1 and hop.equal(ffi.string(made, DIGEST_BYTES), from_hex(protection.digest))
end

-- Whether the owner of the private key has signed the text. Both are bytes.
function M.verify(public_key, signature, text)
  if #public_key ~= KEY_BYTES or #signature ~= SIGNATURE_BYTES then
    return false
  end
  local key = ffi.C.stead_public_key(ED25519, nil, public_key, KEY_BYTES)
  if key == nil then
    ffi.C.stead_forget_errors()
    return false
  end
  local context = ffi.C.stead_new_verification()
  local is_valid = context ~= nil and ffi.C.stead_begin_verification(context, nil, nil, nil, key) == 1
    and ffi.C.stead_verify(context, signature, SIGNATURE_BYTES, text, #text) == 1
  ffi.C.stead_free_verification(context)
  ffi.C.stead_free_key(key)
  -- nginx would take an error that is left for one of its own.
  ffi.C.stead_forget_errors()
  return is_valid
end

-- Whether the token was made for this environment and host, is still valid, and is used for the first time.
function M.spend_token(public_key, token, environment, host)
  local encoded, signed = token:match "^([%w_-]+)%.([%w_-]+)$"
  local text, signature = encoded and M.decode(encoded), signed and M.decode(signed)
  if not text or not signature or not M.verify(from_hex(public_key), signature, text) then
    return false
  end
  local for_environment, for_host, expires, number = text:match "^stead access\n([^\n]+)\n([^\n]+)\n(%d+)\n(%w+)$"
  local left = expires and #expires <= 12 and tonumber(expires) - ngx.time() or -1
  if for_environment ~= environment or for_host ~= host or left < 0 or left > MAX_TOKEN_SECONDS then
    return false
  end
  return (spent:add("access/" .. number, true, MAX_TOKEN_SECONDS + 1)) == true
end

return M
