-- Requests that all differ: {n} in the path and the body is a number that none had before.
-- wrk … -s vary.lua URL -- START METHOD PATH [BODY | @FILE], with at most two threads.
-- LOAD_CREDENTIALS names a file with a credential in each line: each request has the next one, and
-- {c} in the path is its number, from 0.

local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

local function credentials()
  local file, lines = os.getenv("LOAD_CREDENTIALS"), {}
  if file then
    for line in io.lines(file) do lines[#lines + 1] = "Bearer " .. line end
  end
  return lines
end

function init(arguments)
  caller = number
  number = tonumber(arguments[1]) + number
  method, path, body = arguments[2], arguments[3], arguments[4]
  if body and body:sub(1, 1) == "@" then body = io.open(body:sub(2)):read("*a") end
  varies = body and body:find("{n}", 1, true)
  headers = { ["Content-Type"] = body and "application/json" or nil }
  callers = credentials()
end

function request()
  number = number + 2
  local text, target = tostring(number), path
  if #callers > 0 then
    caller = (caller + 2) % #callers
    headers["Authorization"] = callers[caller + 1]
    target = target:gsub("{c}", tostring(caller))
  end
  local filled = varies and body:gsub("{n}", text) or body
  return wrk.format(method, (target:gsub("{n}", text)), headers, filled)
end
