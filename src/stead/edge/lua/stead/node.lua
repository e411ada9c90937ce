-- The identity and settings of this edge, set once when nginx reads its configuration.
local ffi = require "ffi"
local process = require "ngx.process"
local trace = require "stead.trace"

ffi.cdef [[
int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);
int getppid(void);
int getpgrp(void);
int raise(int);
int kill(int, int);
]]
local SET_DEATH_SIGNAL, TERM = 1, 15
local master

local M = { id = "", run = "", rules = "", secure_port = 443, firewall = false, cache_bytes = 0,
  has_preview_certificate = false }

function M.set(given)
  for name, value in pairs(given) do
    M[name] = value
  end
end

local function random_name(size)
  local urandom = assert(io.open("/dev/urandom", "rb"))
  local bytes = urandom:read(size)
  urandom:close()
  return (bytes:gsub(".", function(char) return string.format("%02x", char:byte()) end))
end

-- New shared memory gets a new random name. By it the feed notices that it must send all records again, and cached
-- pages from before are never found.
function M.name_memory()
  ngx.shared.state:safe_add("instance", random_name(16))
  ngx.shared.state:safe_add("access_key", random_name(32))
  ngx.shared.state:safe_add("generation", 0)
  ngx.shared.state:safe_add("certificates", 0)
  M.instance = ngx.shared.state:get("instance")
end

-- Without a seed every worker would generate the same random numbers.
function M.seed()
  math.randomseed(ngx.now() * 1000 + ngx.worker.pid())
  M.new_trace = trace.maker(random_name(8), function() return math.random(0, 0x7fffffff) end)
end

-- A worker whose master was killed would keep the port open, so that the next master could not listen.
function M.die_with_master()
  master = process.get_master_pid()
  ffi.C.prctl(SET_DEATH_SIGNAL, TERM, 0, 0, 0)
  if master and ffi.C.getppid() ~= master then
    ffi.C.raise(TERM)
  end
end

-- The cache manager process does not run Lua and would survive. It is in the process group of the master.
function M.take_along()
  if master and ffi.C.getppid() ~= master and ffi.C.getpgrp() == master then
    ffi.C.kill(0, TERM)
  end
end

return M
