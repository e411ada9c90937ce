-- What this edge knows about itself, set once when nginx reads its configuration.
local M = { id = "", run = "", secure_port = 443, firewall = false }

function M.set(given)
  for name, value in pairs(given) do
    M[name] = value
  end
end

-- New shared memory gets a new name, by which the feed sees that it must tell everything again and under which
-- pages of an earlier life are never found.
function M.name_memory()
  local urandom = assert(io.open("/dev/urandom", "rb"))
  local bytes = urandom:read(16)
  urandom:close()
  local name = bytes:gsub(".", function(char) return string.format("%02x", char:byte()) end)
  ngx.shared.state:safe_add("instance", name)
  ngx.shared.state:safe_add("generation", 0)
  M.instance = ngx.shared.state:get("instance")
end

-- Every worker begins with the same numbers, unless it is told otherwise.
function M.seed()
  math.randomseed(ngx.now() * 1000 + ngx.worker.pid())
end

-- A worker whose master was killed would hold the port against the next one.
function M.die_with_master()
  local ffi = require "ffi"
  ffi.cdef "int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long); int getppid(void); int raise(int);"
  local SET_DEATH_SIGNAL, TERM, master = 1, 15, require("ngx.process").get_master_pid()
  ffi.C.prctl(SET_DEATH_SIGNAL, TERM, 0, 0, 0)
  if master and ffi.C.getppid() ~= master then
    ffi.C.raise(TERM)
  end
end

return M
