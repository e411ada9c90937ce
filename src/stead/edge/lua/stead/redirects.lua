-- Finds the redirect for a path, and its destination. Redirects are looked up by key; the list is never scanned.
local byte, sub, find, gsub, format = string.byte, string.sub, string.find, string.gsub, string.format

local STAR = 42

local M = {}

-- The key prefix of one version of a site's redirects.
function M.base(site, version)
  return site .. "\n" .. version .. "\n"
end

-- `get(key)` returns destination and status code. An exact path comes before a prefix, a longer prefix before a
-- shorter one. Returns the destination, the code and, for a prefix, the rest of the path.
function M.find(get, base, lengths, path)
  -- A redirect that ends in a star is a prefix, even if the requested path ends in a star.
  if byte(path, -1) ~= STAR then
    local to, code = get(base .. path)
    if to then
      return to, code, nil
    end
  end
  for at = 1, #lengths do
    local length = lengths[at]
    if #path >= length then
      local to, code = get(base .. sub(path, 1, length) .. "*")
      if to then
        return to, code, sub(path, length + 1)
      end
    end
  end
  return nil
end

local function escaped(char)
  return format("%%%02X", byte(char))
end

-- The value of `Location`. Only the rest of the path and the query come from the visitor, and neither may change the
-- site that the redirect leads to.
function M.location(to, rest, args)
  local where = to
  if rest and byte(to, -1) == STAR then
    local stem = sub(to, 1, -2)
    if find(stem, "^%a[%w+.-]*://[^/]*$") then
      stem = stem .. "/"
    end
    if byte(stem, -1) == 47 then
      -- With `/*` and the rest `/evil.example` it would become `//evil.example`, which is another site.
      rest = gsub(rest, "^[/\\]+", "")
    end
    where = stem .. gsub(rest, "[^%w%-%._~!$&'()*+,;=:@/%%]", escaped)
  end
  if byte(where, 1) == 47 then
    where = gsub(where, "^/[/\\]+", "/")
  end
  if args and args ~= "" and not find(where, "?", 1, true) then
    where = where .. "?" .. args
  end
  return (gsub(where, "[%c\127]", escaped))
end

return M
