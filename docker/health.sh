#!/bin/bash
# Succeeds when the server says that it is ready. Debian's slim image has bash but no HTTP client.
set -euo pipefail
exec 3<>"/dev/tcp/127.0.0.1/${PORT:-8080}"
printf 'GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r _ status _ <&3
[ "$status" = 200 ]
