#!/bin/sh
# Serves a store to the network: /data/store.sqlite, which is made where it is not there, or the
# store given as the first argument, or the sample data with `demo`. Further arguments are passed on
# to livefetch.
#
# Exit statuses: 64 for a setting that is missing or wrong, 65 for a store that cannot be served, 66
# for one that is named and not there, 73 for a folder that may not be written. Restarting helps none
# of them, so each prints what to do.
set -eu

# Only the default store is made: a name that is given by hand and does not exist is a slip.
make_store() {
  [ -e "$1" ] && return
  if ! [ -w "${1%/*}" ]; then
    echo "${1%/*} holds no ${1##*/} and may not be written by user $(id -u)." >&2
    echo "Mount a volume there that this user may write, or one that holds ${1##*/}." >&2
    exit 73
  fi
  export LIVEFETCH_CREATE=true
}

store=/data/store.sqlite
case "${1:-}" in
  demo) shift; set -- demo --data /data/world.sqlite "$@" ;;
  "" | -*) make_store "$store"; set -- serve "$store" "$@" ;;
  *) set -- serve "$@" ;;
esac

exec /opt/livefetch/livefetch "$@" --host 0.0.0.0 --port "${PORT:-8080}"
