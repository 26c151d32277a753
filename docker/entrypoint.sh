#!/bin/sh
# Serves a store to the network: /data/store.sqlite, or the store given as the first argument, or
# the sample data with `demo`. What follows is passed on to livefetch.
set -eu

if [ -z "${LIVEFETCH_TOKEN:-}" ]; then
  echo "Set LIVEFETCH_TOKEN: clients send it as 'Authorization: Bearer …'." >&2
  exit 64
fi

case "${1:-}" in
  demo) shift; set -- demo --data /data/world.sqlite "$@" ;;
  "" | -*) set -- serve /data/store.sqlite "$@" ;;
  *) set -- serve "$@" ;;
esac

exec /opt/livefetch/livefetch "$@" \
  --host 0.0.0.0 --port "${PORT:-8080}" --public /opt/livefetch/Public
