#!/bin/sh
# Serves a store to the network: /data/store.sqlite, which is created if it is missing, or the store
# given as the first argument (after the word `serve`, which may be left out), or a sample with
# `demo`. `import FILE… --into ENTITY` loads files into /data/store.sqlite and ends. Any other command
# of livefetch is run as it is. Further arguments are passed on.
#
# Exit statuses: 64 for a setting that is missing or wrong, 65 for a store that cannot be served, 66
# for a named file that is missing, 73 for a folder that may not be written. A restart does not help
# with any of them, so each prints what to do.
set -eu

# Ends if the store is missing and its folder may not be written.
check_folder() {
  if [ -e "$1" ] || [ -w "${1%/*}" ]; then return; fi
  echo "${1%/*} holds no ${1##*/} and may not be written by user $(id -u)." >&2
  echo "Mount a volume there that this user may write, or one that holds ${1##*/}." >&2
  exit 73
}

# Only the default store is created: a named store that does not exist is a mistake.
make_store() {
  [ -e "$1" ] && return
  check_folder "$1"
  export LIVEFETCH_CREATE=true
}

# Secrets that an engine mounts as files, where no variable gives them.
token_file=/run/secrets/livefetch-token
if [ -z "${LIVEFETCH_TOKEN+set}${LIVEFETCH_TOKEN_FILE+set}" ] && [ -s "$token_file" ]; then
  export LIVEFETCH_TOKEN_FILE="$token_file"
fi
password_file=/run/secrets/postgres-password
if [ -z "${PGPASSWORD:-}" ] && [ -s "$password_file" ]; then
  PGPASSWORD=$(cat "$password_file")
  export PGPASSWORD
fi

# Plain `docker stop` gives 10 s. A configuration file, if one is named, sets the time itself.
if [ -z "${LIVEFETCH_CONFIG:-}" ]; then
  export LIVEFETCH_SHUTDOWN_TIMEOUT="${LIVEFETCH_SHUTDOWN_TIMEOUT:-8}"
fi

store=/data/store.sqlite
[ "${1:-}" != serve ] || shift
case "${1:-}" in
  demo)
    shift
    sample=world
    case "${1:-}" in world | heroes | todo | blog) sample=$1; shift ;; esac
    check_folder "/data/$sample.sqlite"
    set -- demo "$sample" --data "/data/$sample.sqlite" "$@"
    ;;
  access | alter | backup | check | config | copy | detach | export | fetch | help | key | migrate | \
    model | restore | save | status | --help | --version)
    exec /opt/livefetch/livefetch "$@" ;;
  import) shift; check_folder "$store"; exec /opt/livefetch/livefetch import "$store" "$@" ;;
  "" | -*) make_store "$store"; set -- serve "$store" "$@" ;;
  *) set -- serve "$@" ;;
esac

exec /opt/livefetch/livefetch "$@" --host 0.0.0.0 --port "${PORT:-8080}"
