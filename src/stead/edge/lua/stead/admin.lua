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
  local ok, problem = records.apply(body())
  if ok then
    return respond(200, position())
  elseif problem.dict then
    return respond(507, { error = "full", dict = problem.dict, line = problem.line })
  end
  return respond(400, { error = "malformed", line = problem.line })
end

operations["POST /complete"] = function()
  state:safe_set("complete", true)
  return respond(200, position())
end

operations["GET /state"] = function()
  local free = {}
  for _, name in ipairs(DICTS) do
    free[name] = ngx.shared[name]:free_space()
  end
  local answer = position()
  answer.complete = records.complete()
  answer.hosts = state:get("hosts") or 0
  answer.free = free
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
