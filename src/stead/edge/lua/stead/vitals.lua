-- Web vitals: the script that measures them, and what it sends. Valid values are written to the ledger; the node keeps one
-- message for each page view that it has seen.
local ngx, var = ngx, ngx.var

local M = { script = "" }
local MOST = { LCP = 60000, FCP = 60000, INP = 60000, TTFB = 60000, CLS = 10 }
local NAMES = { "LCP", "FCP", "CLS", "INP", "TTFB" }
local MAX_BYTES = 512

function M.load(path)
  local file = assert(io.open(path, "rb"))
  M.script = file:read "*a"
  file:close()
end

-- `trace;LCP=…;CLS=…` with values inside their bounds, or nil.
function M.parse(body)
  if not body or #body > MAX_BYTES then
    return nil
  end
  local trace = body:match "^trace=(%x+)"
  if not trace or #trace ~= 32 then
    return nil
  end
  local found = {}
  for name, text in body:gmatch ";(%u+)=(%d+%.?%d*)" do
    if MOST[name] then
      found[name] = math.min(tonumber(text), MOST[name])
    end
  end
  local parts = { trace:lower() }
  for _, name in ipairs(NAMES) do
    if found[name] then
      parts[#parts + 1] = string.format("%s=%.4f", name, found[name])
    end
  end
  return #parts > 1 and table.concat(parts, ";") or nil
end

function M.send_script()
  ngx.header["Content-Type"] = "text/javascript; charset=utf-8"
  ngx.header["Cache-Control"] = "public, max-age=86400"
  ngx.header["Content-Length"] = #M.script
  ngx.print(M.script)
end

-- Whoever does not want to be measured is not, and nobody learns what was done with a message.
function M.receive()
  local from = var.http_sec_fetch_site
  ngx.req.read_body()
  if ngx.req.get_method() == "POST" and var.http_sec_gpc ~= "1" and (not from or from == "same-origin") then
    var.stead_vitals = M.parse(ngx.req.get_body_data()) or ""
  end
  return ngx.exit(204)
end

return M
