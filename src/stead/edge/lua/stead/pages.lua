-- Error pages for visitors: a sentence about the problem, and the reason for the owner in a header.
local format = string.format

local M = {}

local TEXT = {
  unknown_host = { 404, "There is no site here", "No site answers to this name. If it is yours, check that its domain is added and that its DNS leads here." },
  not_found = { 404, "Page not found", "This site has no page at this address." },
  gone = { 410, "Page removed", "This site had a page at this address, and has removed it." },
  suspended = { 503, "This site is paused", "Its owner can put it back into service." },
  unreleased = { 503, "Nothing is published here yet", "The first release of this site is still to come." },
  starting = { 503, "One moment, please", "This server has just started and is still learning which sites it serves.", 2 },
  not_allowed = { 403, "Not open to everyone", "This site answers only to addresses that its owner has named." },
  protected = { 401, "This page is protected", "Only those who were invited can see it." },
  wrong_password = { 401, "This page is protected", "That password is not correct." },
  listed = { 403, "Your address is blocked", "It is on a list of networks that send attacks. If it should not be, tell the owner of the site." },
  not_through_partner = { 403, "Not reachable here", "This site answers only through its own firewall service." },
  locked_out = { 429, "Too many failed sign-ins", "Signing in from your address is paused for some minutes.", 900 },
  too_many = { 429, "Too many requests", "Your address has sent more requests than this server accepts at once.", 5 },
  blocked = { 403, "This request was stopped", "It looked like an attack. If it was not, tell the owner of the site." },
  quarantined = { 403, "This file is blocked", "It contained malicious code and was moved to quarantine. Its owner can review it." },
  misdirected = { 421, "Misdirected request", "This connection was opened for another name." },
  node_unreachable = { 502, "The site cannot be reached", "The server that carries it does not answer.", 5 },
  origin_unreachable = { 502, "The site does not answer", "It could not be started, or broke off. Please try again in a moment.", 5 },
  not_installed = { 503, "This site is not ready", "It is being set up or restored. Please try again in a few minutes.", 60 },
  data_lost = { 503, "This site is not available", "Its files are missing on this server. Its owner can restore it from a backup, or ask for help." },
  origin_slow = { 504, "The site took too long", "Its application did not answer in time.", 5 },
  busy = { 503, "The site is busy", "Please try again in a moment.", 5 },
  function_rate_limit = { 429, "Too many requests", "This part of the site gets more requests than its owner allows.", 1 },
  function_request_too_large = { 413, "Too large", "What was sent is larger than this part of the site accepts." },
  function_time_limit = { 503, "The site took too long", "This part of the site did not answer in the time that it has.", 5 },
  function_memory_limit = { 503, "The site does not answer", "This part of the site needs more memory than it has.", 5 },
  function_stack_limit = { 503, "The site does not answer", "This part of the site calls itself without an end." },
  function_trap = { 503, "The site does not answer", "This part of the site broke off.", 5 },
  function_stopped = { 503, "The site does not answer", "This part of the site was stopped or could not be reached.", 5 },
  function_unavailable = { 503, "The site does not answer", "This part of the site could not be started.", 5 },
  function_exception = { 500, "Something went wrong", "This part of the site could not finish the request." },
  function_response_invalid = { 502, "The site does not answer", "This part of the site answered with something that is no response." },
  function_response_too_large = { 502, "The site does not answer", "This part of the site answered with more than it may." },
  loop = { 508, "The site has no home", "Its servers do not agree on which of them carries it." },
  bad_request = { 400, "Bad request", "The server could not understand what was asked." },
  method = { 405, "Method not allowed", "Pages of this site can only be read." },
  too_large = { 413, "Too large", "What was sent is larger than this site accepts." },
  range = { 416, "No such range", "The file is shorter than the part that was asked for." },
  failed = { 500, "Something went wrong", "The server could not finish this request.", 5 },
}

local BY_STATUS = {
  [400] = "bad_request", [403] = "not_allowed", [404] = "not_found", [405] = "method", [410] = "gone", [413] = "too_large",
  [416] = "range", [421] = "misdirected", [429] = "too_many", [502] = "origin_unreachable", [503] = "busy",
  [504] = "origin_slow",
}

local LAYOUT = [[<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><style>
:root{color-scheme:light dark}
body{margin:0;min-height:100vh;display:grid;place-items:center;font:1.05rem/1.6 system-ui,sans-serif;
background:light-dark(#f6f5f2,#17181b);background:Canvas;color:CanvasText}
main{max-width:32rem;padding:2rem}
h1{font-size:1.6rem;font-weight:600;margin:0 0 .5rem}
p{margin:0;opacity:.75}small{display:block;margin-top:2rem;opacity:.5}
form{margin-top:1.5rem;display:flex;gap:.5rem}input,button{font:inherit;padding:.4rem .7rem}input{flex:1}
</style></head><body><main><h1>%s</h1><p>%s</p>%s<small>%d</small></main></body></html>
]]

-- Returns status, body, and the seconds for Retry-After.
function M.render(reason, extra)
  local text = TEXT[reason] or TEXT.failed
  return text[1], format(LAYOUT, text[2], text[2], text[3], extra or "", text[1]), text[4]
end

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local function escape(text)
  return (text:gsub("[&<>\"']", ESCAPES))
end

function M.password_form(action, to)
  return format([[<form method="post" action="%s"><input type="hidden" name="to" value="%s"><input type="password"
name="password" aria-label="Password" autocomplete="current-password" autofocus required><button>Enter</button></form>]],
    action, escape(to))
end

function M.link(url, text)
  return format([[<p><a href="%s">%s</a></p>]], escape(url), escape(text))
end

function M.reasons()
  local names = {}
  for name in pairs(TEXT) do
    names[#names + 1] = name
  end
  return names
end

function M.reason(status)
  return BY_STATUS[status] or "failed"
end

return M
