-- W3C trace context: continued if the visitor's header is well formed, otherwise created.
local tohex = require("bit").tohex
local match, sub, format = string.match, string.sub, string.format

local M = {}
local NO_TRACE, NO_SPAN = ("0"):rep(32), ("0"):rep(16)

-- The id of the trace, or nil if the header is not valid.
function M.id(header)
  if not header or #header ~= 55 then
    return nil
  end
  local trace, span = match(header, "^00%-([0-9a-f]+)%-([0-9a-f]+)%-[0-9a-f][0-9a-f]$")
  if not trace or #trace ~= 32 or #span ~= 16 or trace == NO_TRACE or span == NO_SPAN then
    return nil
  end
  return trace
end

-- Unique ids: random bytes of the worker, random bytes of the request, and a counter. They are not secrets, so they
-- need not be as expensive as nginx's own.
function M.maker(worker, random)
  local count = 0
  return function()
    count = count + 1
    return worker .. tohex(random()) .. tohex(count)
  end
end

-- The traceparent for the origin. `chance` is in [0, 1) and decides whether the request is sampled. A visitor's header
-- has no say in that: sampling costs the site.
function M.parent(header, fresh, rate, chance)
  local flags = chance < rate and "01" or "00"
  if M.id(header) then
    return sub(header, 1, 53) .. flags
  end
  return format("00-%s-%s-%s", fresh, sub(fresh, 9, 24), flags)
end

return M
