-- A record as it lies in shared memory: its revision, a space, its content; nothing after the space for one
-- that is gone.
local find, sub, format = string.find, string.sub, string.format

local M = {}

function M.join(revision, content)
  return format("%.0f %s", revision, content)
end

function M.split(raw)
  local at = find(raw, " ", 1, true)
  return tonumber(sub(raw, 1, at - 1)), sub(raw, at + 1)
end

return M
