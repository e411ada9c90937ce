-- The admin socket: the node's feed applies records through it. No other user can open it.
local cjson = require "cjson.safe"
local node = require "stead.node"
local records = require "stead.records"

local state = ngx.shared.state
local M = {}

local DICTS = { "state", "records", "redirects", "certificates", "purges", "pages", "lockout", "misses" }

local function respond(status, value)
  ngx.status = status
  ngx.header["Content-Type"] = "application/json"
  ngx.print(cjson.encode(value))
end

local function position()
  return { instance = node.instance, revision = state:get("revision") or 0 }
end

local function body()
  ngx.req.read_body()
  local text = ngx.req.get_body_data()
  if not text then
    local name = ngx.req.get_body_file()
    local file = name and io.open(name, "rb")
    text = file and file:read "*a" or ""
    if file then
      file:close()
    end
  end
  return text
end

local operations = {}

operations["POST /apply"] = function()
  local skipped, malformed = records.apply(body())
  skipped = skipped[1] and skipped or nil
  if malformed then
    return respond(400, { error = "malformed", line = malformed, skipped = skipped })
  end
  local response = position()
  response.skipped = skipped
  return respond(200, response)
end

-- Purges by the node itself: one JSON object per line, with an environment and, unless all its pages are meant, tags.
operations["POST /purge"] = function()
  local refused = 0
  for line in body():gmatch "[^\n]+" do
    local purge = cjson.decode(line)
    if type(purge) ~= "table" or type(purge.environment) ~= "string" then
      return respond(400, { error = "malformed" })
    end
    if not records.purge(purge.environment, type(purge.tags) == "table" and purge.tags or nil) then
      refused = refused + 1
    end
  end
  local response = position()
  response.refused = refused
  return respond(200, response)
end

operations["POST /complete"] = function()
  state:safe_set("complete", true)
  return respond(200, position())
end

-- The keys with which edges sign for each other, in hexadecimal digits, separated by spaces.
operations["POST /hop-keys"] = function()
  state:safe_set("hop_keys", body())
  return respond(200, position())
end

-- The key for the cookies of protected previews, in hexadecimal digits.
operations["POST /preview-key"] = function()
  state:safe_set("preview_key", body())
  return respond(200, position())
end

operations["GET /state"] = function()
  local free, size = {}, {}
  for _, name in ipairs(DICTS) do
    free[name] = ngx.shared[name]:free_space()
    size[name] = ngx.shared[name]:capacity()
  end
  local answer = position()
  answer.complete = records.complete()
  answer.hosts = state:get("hosts") or 0
  answer.free, answer.size = free, size
  return respond(200, answer)
end

function M.serve()
  local operation = operations[ngx.req.get_method() .. " " .. ngx.var.uri]
  if not operation then
    return respond(404, { error = "unknown" })
  end
  return operation()
end

return M
