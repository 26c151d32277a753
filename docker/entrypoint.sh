#!/bin/sh
# Serves a store to the network: /data/store.sqlite, which is created if it is missing, or the store
# that the arguments name, or a sample with `demo`. The word `serve` may be left out before an option, a
# name with a dot, a slash or a colon, and the name of a file that exists. `import FILE… --into ENTITY`
# loads files into /data/store.sqlite and ends. Any other first word is a command of livefetch and is run
# as it is, so that the program refuses one that it does not have. Further arguments are passed on.
#
# The address is 0.0.0.0 and the port is that of PORT, or 8080, unless `--host` or `--port`, LIVEFETCH_HOST
# or LIVEFETCH_PORT, or the configuration file says otherwise. PORT precedes the file.
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

# True if the option, or a value of it, is among the arguments.
given() {
  option=$1
  shift
  for word in "$@"; do
    case $word in "$option" | "$option"=*) return 0 ;; esac
  done
  return 1
}

# The configuration file that the program reads, and whether it has a setting.
config=${LIVEFETCH_CONFIG:-}
previous=
for word in "$@"; do
  case $word in --config=*) config=${word#*=} ;; esac
  if [ "$previous" = --config ]; then config=$word; fi
  previous=$word
done
in_config() { grep -Eqs "\"$1\"[[:space:]]*:" "${config:-livefetch.json}"; }

# Plain `docker stop` gives 10 s.
if ! in_config shutdown-timeout; then
  export LIVEFETCH_SHUTDOWN_TIMEOUT="${LIVEFETCH_SHUTDOWN_TIMEOUT:-8}"
fi

# Prints the first argument that is neither an option nor the value of one.
name_among() {
  while [ $# -gt 0 ]; do
    case $1 in
      --*=* | --no-* | --help | -h | --version) ;;
      --anonymous | --insecure-open | --log-requests | --create | --read-only | --explain) ;;
      --server-timing) ;;
      -*) if [ $# -gt 1 ]; then shift; fi ;;
      *) echo "$1"; return ;;
    esac
    shift
  done
}

# Serves the named store, or the default one.
serve() {
  if [ -n "$(name_among "$@")" ]; then start serve "$@"; fi
  make_store /data/store.sqlite
  start serve /data/store.sqlite "$@"
}

# Runs the server, on all addresses unless something else is said.
start() {
  if ! given --host "$@" && [ -z "${LIVEFETCH_HOST+set}" ] && ! in_config host; then
    set -- "$@" --host 0.0.0.0
  fi
  if ! given --port "$@" && [ -z "${LIVEFETCH_PORT+set}" ]; then
    if [ -n "${PORT:-}" ] || ! in_config port; then set -- "$@" --port "${PORT:-8080}"; fi
  fi
  exec /opt/livefetch/livefetch "$@"
}

case "${1:-}" in
  serve)
    shift
    serve "$@"
    ;;
  demo)
    shift
    sample=$(name_among "$@")
    file=/data/${sample:-world}.sqlite
    check_folder "$file"
    start demo --data "$file" "$@"
    ;;
  access | alter | backup | check | config | copy | detach | export | fetch | help | key | migrate | \
    model | restore | save | status | --help | --version)
    exec /opt/livefetch/livefetch "$@" ;;
  import)
    shift
    check_folder /data/store.sqlite
    exec /opt/livefetch/livefetch import /data/store.sqlite "$@"
    ;;
  "" | -*) serve "$@" ;;
  *.* | */* | *:*) start serve "$@" ;;
  *)
    if [ -f "$1" ]; then start serve "$@"; fi
    exec /opt/livefetch/livefetch "$@"
    ;;
esac
