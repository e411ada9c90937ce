-- The format of a record in shared memory: its revision, a space, its content. The content of a deleted record is
-- empty.
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
