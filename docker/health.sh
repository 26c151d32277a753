#!/bin/sh
# Succeeds when the server says that it is ready, by HTTP or, with a certificate, by HTTPS. The
# certificate is not checked: its name is not that of loopback.
set -eu
for scheme in http https; do
  if curl --noproxy '*' --insecure --silent --fail --max-time 2 --output /dev/null \
    "$scheme://127.0.0.1:${PORT:-8080}/health/ready"; then exit 0; fi
done
exit 1
