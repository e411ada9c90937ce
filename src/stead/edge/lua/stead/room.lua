-- Limits how much of the page cache one environment fills. Requests for ever new pages of one site must not push out the
-- pages of all others, in shared memory or on disk.
local node = require "stead.node"

local pages = ngx.shared.pages
local M = {}

-- In ten minutes an environment may fill an eighth of each. Pages that are found in the cache cost nothing.
local WINDOW_SECONDS = 600
local SHARE = 8
-- What an entry in shared memory needs besides its key and its value.
local ENTRY_BYTES = 128

local function used(kind, environment)
  return pages:get(kind .. environment) or 0
end

-- Whether pages of the environment may be fetched for the cache.
function M.available(environment)
  return used("m ", environment) < pages:capacity() / SHARE and used("d ", environment) < node.cache_bytes / SHARE
end

function M.charge_memory(environment, bytes)
  pages:incr("m " .. environment, bytes + ENTRY_BYTES, 0, WINDOW_SECONDS)
end

function M.charge_disk(environment, bytes)
  pages:incr("d " .. environment, bytes, 0, WINDOW_SECONDS)
end

return M
