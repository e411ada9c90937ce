-- On the way back from an application: how long its answer may be kept, what it is tagged with, and whether a
-- sign-in failed.
local lines = require "stead.lines"
local records = require "stead.records"
local pagecache = require "stead.pagecache"
local lockout = require "stead.lockout"

local pages = ngx.shared.pages
local M = {}

local PASS = "!"
local PASS_SECONDS = 30
-- The cache counts in whole seconds; what we know of a page must be gone before the page is.
local EARLIER = 0.5

M.PASS = PASS

-- Inner tier: nginx's cache in the outer tier obeys this header alone.
function M.lifetime()
  if ngx.var.http_x_stead_cacheable then
    local view = records.view(ngx.var.host)
    ngx.header["X-Accel-Expires"] = view and pagecache.seconds(ngx.status, ngx.resp.get_headers(), view.ttl) or 0
  end
end

-- Outer tier: when was it fetched, and what does it concern. A page that may not be kept is not waited for by
-- others next time.
function M.learn()
  local var = ngx.var
  local how = var.upstream_cache_status
  if (how == "HIT" and not var.stead_cold) or how == "STALE" or how == "UPDATING" then
    return
  end
  local since, page = pagecache.parts(var.stead_key)
  local seconds = tonumber(var.upstream_http_x_accel_expires) or 0
  if seconds <= 0 or var.upstream_http_set_cookie then
    pages:set(page, PASS, PASS_SECONDS)
    return
  end
  local known = pages:get(page)
  if known and known ~= PASS and lines.split(known) > since then
    return
  end
  local tags = lines.join(since, var.upstream_http_cache_tag or "")
  pages:set(page, tags, math.max(seconds - EARLIER, EARLIER))
end

function M.signed_in()
  local var = ngx.var
  if var.stead_login == "1" then
    lockout.note(var.stead_environment, var.stead_visitor, ngx.status)
  end
end

return M
