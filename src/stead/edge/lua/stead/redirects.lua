-- Which rule a path meets and where it leads. Rules are asked for by key, never walked through.
local byte, sub, find, gsub, format = string.byte, string.sub, string.find, string.gsub, string.format

local STAR = 42

local M = {}

-- In front of every path of one version of a site's rules.
function M.base(site, version)
  return site .. "\n" .. version .. "\n"
end

-- `get(key)` gives destination and code. An exact rule comes before a prefix, a longer prefix before a shorter.
-- Returns the destination, the code and, for a prefix, the rest of the path.
function M.find(get, base, lengths, path)
  -- A rule that ends in a star is a prefix, also for whoever asks for the star.
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

-- What `Location` says. Of the visitor only the rest and the query come in, and neither may leave the site
-- that the rule leads to.
function M.location(to, rest, args)
  local where = to
  if rest and byte(to, -1) == STAR then
    local stem = sub(to, 1, -2)
    if find(stem, "^%a[%w+.-]*://[^/]*$") then
      stem = stem .. "/"
    end
    if byte(stem, -1) == 47 then
      -- `/*` with `/evil.example` as the rest would become `//evil.example`, another site.
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
