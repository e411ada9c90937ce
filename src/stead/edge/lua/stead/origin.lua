-- Handles responses of an application: how long they may be cached, their tags, and failed sign-ins.
local access = require "stead.access"
local answer = require "stead.answer"
local lines = require "stead.lines"
local records = require "stead.records"
local pagecache = require "stead.pagecache"
local rules = require "stead.cache_rules"
local lockout = require "stead.lockout"
local room = require "stead.room"

local pages = ngx.shared.pages
local M = {}

local PASS = "!"
local PASS_SECONDS = 30
-- The memory for the entries about pages is shared by all sites. WordPress sites send at most half of this.
local MAX_TAGS = 8192
-- Of a page that says its size. It is a download then, and the cache is for pages.
local MAX_BYTES = 16 * 2 ^ 20
-- nginx's cache counts whole seconds; the entry about a page must expire before the page does.
local MARGIN_SECONDS = 0.5

M.PASS = PASS

-- Runs in the inner tier, so only when a page was fetched. nginx's cache in the outer tier obeys only the header.
-- Further requests for a page that may not be cached bypass the cache and do not wait for each other, unless it was
-- refused or failed: a single visitor can cause that.
function M.fetched()
  local header, status = ngx.header, ngx.status
  local tags = header["Cache-Tag"] or ""
  if tags ~= "" then
    -- The outer tier does not need it, and its buffers for headers are small.
    header["Cache-Tag"] = nil
  end
  local key = ngx.var.http_x_stead_key
  if not key then
    return
  end
  if type(tags) == "table" then
    tags = table.concat(tags, ",")
  end
  local host = ngx.var.host
  local view = records.view(host) or records.view(records.wildcard_of(host) or "")
  local target = ngx.var.request_uri
  local rule = pagecache.rule(ngx.unescape_uri(target:match "^[^?]*"), target)
  local ttl = view and (ngx.var.http_x_stead_warm and view.ttl > 0 and view.hot_ttl or view.ttl)
  local seconds = ttl and pagecache.seconds(status, ngx.resp.get_headers(), ttl, rule) or 0
  if #tags > MAX_TAGS or (tonumber(header["Content-Length"]) or 0) > MAX_BYTES then
    seconds = 0
  end
  header["X-Accel-Expires"] = seconds
  local since, page = pagecache.parts(key)
  local environment = page:match "^%S+"
  local known = pages:get(page)
  if seconds <= 0 then
    if status < 500 and not header["X-Stead-Reason"] then
      if not known then
        room.charge_memory(environment, #page)
      end
      pages:set(page, PASS, PASS_SECONDS)
    end
    return
  end
  ngx.ctx.stead_stored = environment
  if known and known ~= PASS and lines.split(known) > since then
    return
  end
  local variants = not known and pagecache.variants(environment, target)
  if variants and pages:incr(variants, 1, 0, rules.VARIANTS_SECONDS) == 1 then
    room.charge_memory(environment, #variants)
  end
  if not known or known == PASS then
    room.charge_memory(environment, #page + #tags)
  end
  pages:set(page, lines.join(since, tags), math.max(seconds - MARGIN_SECONDS, MARGIN_SECONDS))
end

-- Runs in the inner tier when a response is complete.
function M.stored()
  local environment = ngx.ctx.stead_stored
  if environment then
    room.charge_disk(environment, tonumber(ngx.var.bytes_sent) or 0)
  end
end

-- The node leaves this file beside `current` when the data of the application cannot be found.
local function is_lost()
  local file = io.open((ngx.var.document_root:gsub("/current$", "/data-lost")), "rb")
  if file then
    file:close()
  end
  return file ~= nil
end

-- There are no files of the application.
function M.absent()
  return answer.page(is_lost() and "data_lost" or "not_installed")
end

-- The application does not answer.
function M.broken()
  if is_lost() then
    return answer.page("data_lost")
  end
  return answer.status()
end

-- Runs before the response of a function is sent. A process of a function says only why there is no response; the page
-- for visitors is the edge's.
function M.function_answered()
  access.keep_private()
  local reason = ngx.var.upstream_http_x_stead_reason
  if not reason then
    return
  end
  local header = ngx.header
  local status, body, later = answer.render(reason)
  ngx.status, ngx.ctx.stead_page = status, body
  header["Content-Type"] = "text/html; charset=utf-8"
  header["Content-Length"] = #body
  header["Cache-Control"] = "no-store"
  header["X-Stead-Reason"] = reason
  header["Retry-After"] = later
end

function M.function_body()
  if not ngx.var.upstream_http_x_stead_reason then
    return
  end
  local page = ngx.ctx.stead_page
  if page then
    ngx.arg[1], ngx.arg[2] = page, true
    ngx.ctx.stead_page = ""
  end
end

-- Runs before the response is sent to the visitor.
function M.answered()
  local var = ngx.var
  access.keep_private()
  if var.stead_login == "1" then
    lockout.note(var.stead_environment, var.stead_visitor, ngx.status)
  end
end

return M
