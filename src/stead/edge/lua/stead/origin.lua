-- Handles responses of an application: how long they may be cached, their tags, and failed sign-ins.
local lines = require "stead.lines"
local records = require "stead.records"
local pagecache = require "stead.pagecache"
local lockout = require "stead.lockout"

local pages = ngx.shared.pages
local M = {}

local PASS = "!"
local PASS_SECONDS = 30
-- nginx's cache counts whole seconds; the entry about a page must expire before the page does.
local MARGIN_SECONDS = 0.5

M.PASS = PASS

-- Runs in the inner tier, so only when a page was fetched. nginx's cache in the outer tier obeys only the header.
-- Further requests for a page that may not be cached bypass the cache and do not wait for each other, unless it was
-- refused or failed: a single visitor can cause that.
function M.fetched()
  local key = ngx.var.http_x_stead_key
  if not key then
    return
  end
  local header, status = ngx.header, ngx.status
  local view = records.view(ngx.var.host)
  local seconds = view and pagecache.seconds(status, ngx.resp.get_headers(), view.ttl) or 0
  header["X-Accel-Expires"] = seconds
  local since, page = pagecache.parts(key)
  if seconds <= 0 then
    if status < 500 and not header["X-Stead-Reason"] then
      pages:set(page, PASS, PASS_SECONDS)
    end
    return
  end
  local known = pages:get(page)
  if known and known ~= PASS and lines.split(known) > since then
    return
  end
  local tags = header["Cache-Tag"] or ""
  if type(tags) == "table" then
    tags = table.concat(tags, ",")
  end
  pages:set(page, lines.join(since, tags), math.max(seconds - MARGIN_SECONDS, MARGIN_SECONDS))
end

function M.signed_in()
  local var = ngx.var
  if var.stead_login == "1" then
    lockout.note(var.stead_environment, var.stead_visitor, ngx.status)
  end
end

return M
