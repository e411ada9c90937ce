-- Selects the certificate by the server name of the handshake, and caches parsed certificates. One that is not in memory
-- is looked up in the node's store. An unknown name gets no handshake.
local cjson = require "cjson.safe"
local lrucache = require "resty.lrucache"
local ssl = require "ngx.ssl"
local lines = require "stead.lines"
local node = require "stead.node"
local records = require "stead.records"
local store = require "stead.store"

local M = {}
local parsed = lrucache.new(5000)

-- The certificate in the configuration is that of the preview domain. A domain of a customer may look like a permanent
-- host, so a certificate for exactly this name comes first.
local function uses_preview_certificate(name)
  return node.has_preview_certificate and records.is_permanent(name)
end

-- Whether the name has no host of its own, and is below a wildcard that is in memory. Then it has no certificate of its
-- own either, and the store is not asked for each of any number of names.
local function is_below_wildcard(name)
  local wildcard = records.wildcard_of(name)
  return wildcard ~= nil and records.has_all_hosts() and not records.has_host(name) and records.has_host(wildcard)
end

local function find(name)
  local raw = records.certificate(name)
  if not raw and not is_below_wildcard(name) and store.ask("certificate", name) == "found" then
    raw = records.certificate(name)
  end
  return raw
end

local function parse(raw)
  local _, text = lines.split(raw)
  local value = text ~= "" and cjson.decode(text)
  local chain = value and ssl.parse_pem_cert(value.chain)
  local key = value and ssl.parse_pem_priv_key(value.key)
  return chain and key and { chain = chain, key = key }
end

local function certificate(name)
  local now = records.certificates_changed()
  local entry = parsed:get(name)
  if entry and entry.generation == now then
    return entry.pair
  end
  local raw = find(name)
  if entry and entry.raw == raw then
    entry.generation = now
    return entry.pair
  end
  local pair = raw and parse(raw)
  if pair then
    parsed:set(name, { generation = now, raw = raw, pair = pair })
  else
    parsed:delete(name)
  end
  return pair
end

function M.serve()
  local name = (ssl.server_name() or ""):lower()
  local pair = name ~= "" and certificate(name)
  if not pair then
    local wildcard = records.wildcard_of(name)
    pair = wildcard and certificate(wildcard)
  end
  if not pair and uses_preview_certificate(name) then
    return
  elseif not pair then
    return ngx.exit(ngx.ERROR)
  end
  ssl.clear_certs()
  if not (ssl.set_cert(pair.chain) and ssl.set_priv_key(pair.key)) then
    return ngx.exit(ngx.ERROR)
  end
end

return M
