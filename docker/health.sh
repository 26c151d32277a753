#!/bin/sh
# Succeeds when the server says that it is ready, by HTTP or, with a certificate, by HTTPS. The
# certificate is not checked: its name is not that of loopback.
#
# The port is the one that entrypoint.sh chooses: of the server's arguments, which are those of process 1,
# of LIVEFETCH_PORT, of PORT, or of the configuration file.
set -eu
port= config=${LIVEFETCH_CONFIG:-livefetch.json}
if [ "$(cat /proc/1/comm 2>/dev/null)" = livefetch ]; then
  words() { tr '\0' '\n' 2>/dev/null </proc/1/cmdline; }
  port=$(words | sed -n 's/^--port=//p; /^--port$/ { n; p; }' | tail -n 1)
  named=$(words | sed -n 's/^--config=//p; /^--config$/ { n; p; }' | tail -n 1)
  config=${named:-$config}
fi
port=${port:-${LIVEFETCH_PORT:-${PORT:-}}}
if [ -z "$port" ] && [ -r "$config" ]; then
  port=$(sed -n 's/.*"port"[[:space:]]*:[[:space:]]*\([0-9][0-9]*\).*/\1/p' "$config" | head -n 1)
fi
for scheme in http https; do
  if curl --noproxy '*' --insecure --silent --fail --max-time 2 --output /dev/null \
    "$scheme://127.0.0.1:${port:-8080}/health/ready"; then exit 0; fi
done
exit 1
