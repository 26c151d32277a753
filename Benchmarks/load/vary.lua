-- Requests that all differ: {n} in the path and the body is a number that none had before.
-- wrk … -s vary.lua URL -- START METHOD PATH [BODY | @FILE], with at most two threads.

local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(arguments)
  number = tonumber(arguments[1]) + number
  method, path, body = arguments[2], arguments[3], arguments[4]
  if body and body:sub(1, 1) == "@" then body = io.open(body:sub(2)):read("*a") end
  varies = body and body:find("{n}", 1, true)
  headers = { ["Content-Type"] = body and "application/json" or nil }
end

function request()
  number = number + 2
  local text = tostring(number)
  local filled = varies and body:gsub("{n}", text) or body
  return wrk.format(method, (path:gsub("{n}", text)), headers, filled)
end
