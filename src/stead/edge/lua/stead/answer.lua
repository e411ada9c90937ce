-- Responds with one of the edge's own pages.
local pages = require "stead.pages"

local M = {}

-- `extra` is HTML below the text.
function M.page(reason, detail, extra)
  local status, body, later = pages.render(reason, extra)
  ngx.status = status
  local header = ngx.header
  header["Content-Type"] = "text/html; charset=utf-8"
  header["Cache-Control"] = "no-store"
  header["X-Stead-Reason"] = detail and detail ~= "" and (reason .. "; " .. detail:gsub("[^ -~]", " ")) or reason
  header["Content-Length"] = #body
  if status == 405 then
    header["Allow"] = "GET, HEAD"
  end
  if later then
    header["Retry-After"] = later
  end
  ngx.print(body)
  return ngx.exit(status)
end

M.render = pages.render

-- For errors of nginx itself.
function M.status()
  if ngx.status == 503 and (ngx.var.stead_function or "") ~= "" then
    return M.page("function_stopped")
  end
  return M.page(pages.reason(ngx.status))
end

return M
