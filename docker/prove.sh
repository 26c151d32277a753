#!/usr/bin/env bash
# Proves the image without a Docker engine, on Debian 12 as root: runs the build stage here and
# the run stage in a fresh minimal Debian, starts the entry point there as the image's user, and
# checks the refusal without a token, the start on an empty volume, readiness, also with TLS, the page,
# one fetch, the import of a file, a token from a mounted secret, a read-only root, another user, the
# exit after SIGTERM, the licences, and the compressed size.
#
# usage: prove.sh [BUILT]
# BUILT is a folder that docker/build.sh has laid out already, such as `make dist`'s .build-dist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "prove: $1" >&2; exit 1; }
step() { echo "prove: $1"; }

[ "$(id -u)" = 0 ] || fail "needs root, for chroot"
grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || fail "needs Debian 12, as the image is"
bash .ci/install curl debootstrap openssl python3

work=$(mktemp -d)
root=$work/root
server=
finish() {
  if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT

# The stage's own view: its mounts vanish with the last process in it. `frozen=1` mounts the root
# read-only, except /data and an empty /tmp, as `read_only` and `tmpfs` of compose.yaml do.
frozen=
in_stage() {
  exec unshare --mount sh -ec '
    root=$1; frozen=$2; user=$3; shift 3
    if [ -n "$frozen" ]; then
      mount --bind "$root" "$root"
      mount --bind "$root/data" "$root/data"
      mount -t tmpfs tmpfs "$root/tmp"
      mount -o remount,bind,ro "$root"
    fi
    mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
    exec chroot --userspec="$user" "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
  ' in_stage "$root" "$frozen" "$@"
}

if [ -n "${1:-}" ]; then
  cp -R "$1" "$work/out"
else
  step "build stage"
  bash .ci/install libmicrohttpd-dev libsqlite3-dev libcurl4-openssl-dev zlib1g-dev libpq-dev
  sh docker/build.sh "$work/out" >"$work/build.log" 2>&1 || { cat "$work/build.log"; fail "build"; }
fi

step "run stage"
mirror=$(apt-get indextargets --format '$(REPO_URI)' \
  'Created-By: Packages' 'Codename: bookworm' 'Component: main' | head -n 1)
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/log" 2>&1 ||
  { tail "$work/log"; fail "debootstrap"; }
# How this machine reaches its mirror (proxy, options) holds there too.
cp -R /etc/apt/apt.conf.d "$root/etc/apt/"
cp docker/prepare.sh "$root/tmp/"
(in_stage 0:0 sh /tmp/prepare.sh) >"$work/log" 2>&1 || { tail "$work/log"; fail "prepare.sh"; }
cp -R "$work/out/." "$root/"

step "has the licence of each library in the program"
licences=$root/opt/livefetch/copyright
grep -q '^MIT License$' "$licences" || fail "not the licence of the project"
[ -s Package.resolved ] || fail "no Package.resolved, which names the libraries"
for name in $(sed -n 's/.*"identity" : "\(.*\)",/\1/p' Package.resolved) swift; do
  grep -q "^---- $name/LICENSE" "$licences" || fail "no licence of $name"
done
grep -q '^---- swift-crypto/NOTICE' "$licences" || fail "no notices"

# What the registry stores: the files of the base image, without what the slim one leaves out, and ours.
step "compressed size"
bytes=$(tar -C "$root" --one-file-system --exclude=./proc/* --exclude=./dev/* --exclude=./tmp/* \
  --exclude=./var/cache/apt/* --exclude=./var/lib/apt/lists/* --exclude=./var/log/* \
  --exclude=./usr/share/doc/* --exclude=./usr/share/man/* --exclude=./usr/share/locale/* \
  --exclude=./usr/share/info/* -c . | gzip | wc -c)
echo "prove: $((bytes / 1000000)) MB"
[ "$bytes" -le 60000000 ] || fail "more than 60 MB"

image() { sed -n "s/^$1 //p" docker/Dockerfile | tail -n 1; }
user=$(image USER)
entry=$(image ENTRYPOINT | tr -d '[]"')
port=$(python3 -c 'import socket
probe = socket.socket(); probe.bind(("127.0.0.1", 0)); print(probe.getsockname()[1])')
token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')

step "refuses to start without a token"
if (in_stage "$user" PORT="$port" "$entry" demo) >"$work/log" 2>&1; then fail "started"; fi
grep -q LIVEFETCH_TOKEN "$work/log" || fail "no word about the token"

step "runs a command in place of the server"
(in_stage "$user" "$entry" --version) >"$work/log" 2>&1 || { cat "$work/log"; fail "--version"; }
status=0
(in_stage "$user" "$entry" status /data/store.sqlite) >"$work/log" 2>&1 || status=$?
[ "$status" = 66 ] || { cat "$work/log"; fail "exit $status"; }

step "refuses a command that the program does not have"
status=0
(in_stage "$user" PORT="$port" LIVEFETCH_TOKEN="$token" "$entry" doctor) >"$work/log" 2>&1 || status=$?
[ "$status" = 64 ] || { cat "$work/log"; fail "exit $status"; }
grep -q "'doctor'" "$work/log" || { cat "$work/log"; fail "no word about the command"; }

settings=(LIVEFETCH_TOKEN="$token")
# Starts the entry point with the arguments and waits until it is ready.
start() {
  (in_stage "$user" PORT="$port" "${settings[@]}" "$entry" "$@") >"$work/server.log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    if (in_stage "$user" PORT="$port" /opt/livefetch/health.sh) 2>/dev/null; then return; fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$work/server.log"
  fail "not ready"
}

# Ends it as the engine does.
stop() {
  kill -TERM "$server"
  local status=0
  wait "$server" || status=$?
  server=
  [ "$status" = 0 ] || { cat "$work/server.log"; fail "exit $status"; }
}

step "says what to do where /data may not be written"
chmod 555 "$root/data"
status=0
(in_stage "$user" PORT="$port" LIVEFETCH_TOKEN="$token" "$entry") >"$work/log" 2>&1 || status=$?
chmod 750 "$root/data"
[ "$status" = 73 ] || fail "exit $status"
grep -q "Mount a volume" "$work/log" || fail "no word about the volume"

step "makes a store on an empty volume, and serves it again"
start
grep -q "an empty one was made" "$work/server.log" || fail "no word about the new store"
(in_stage "$user" /opt/livefetch/livefetch alter /data/store.sqlite \
  'CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)') >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "alter"; }
stop
start
python3 - "$port" "$token" <<'PYTHON'
import sys, urllib.request
port, token = sys.argv[1:]
base = f"http://127.0.0.1:{port}"
assert b"<title>" in urllib.request.urlopen(base + "/").read()
request = urllib.request.Request(
    base + "/v1/objects/note", headers={"Authorization": f"Bearer {token}"})
assert urllib.request.urlopen(request).status == 200
PYTHON
stop

step "starts as user $user"
start demo
[ "$(awk '/^Uid:/ { print $2 }' "/proc/$server/status")" = "${user%%:*}" ] || fail "wrong user"

step "answers one fetch"
python3 - "$port" "$token" <<'PYTHON'
import json, sys, urllib.error, urllib.request
port, token = sys.argv[1:]
url = f"http://127.0.0.1:{port}/v1/objects/City?sort=-population&limit=3"
try:
    urllib.request.urlopen(url)
    sys.exit("answered without the token")
except urllib.error.HTTPError as error:
    assert error.code == 401, error.code
request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
answer = json.load(urllib.request.urlopen(request))
names = [item["name"] for item in answer["sections"][0]["items"]]
assert names == ["Shanghai", "Beijing", "Shenzhen"], names
PYTHON

step "ends on $(image STOPSIGNAL)"
stop

step "is ready by HTTPS, and takes the token from a mounted secret"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=notes.example \
  -keyout "$root/tmp/key.pem" -out "$root/tmp/cert.pem" 2>/dev/null
chown "$user" "$root/tmp/key.pem"
install -d "$root/run/secrets"
echo "$token" >"$root/run/secrets/livefetch-token"
settings=(LIVEFETCH_TLS_CERT=/tmp/cert.pem LIVEFETCH_TLS_KEY=/tmp/key.pem)
start
curl -sfk -H "Authorization: Bearer $token" "https://127.0.0.1:$port/v1" >/dev/null ||
  fail "not the secret's token"
stop
settings=(LIVEFETCH_TOKEN="$token")
rm -r "$root/run/secrets"

step "loads a file into the store"
printf 'id,text\n1,first\n2,second\n' >"$root/tmp/notes.csv"
(in_stage "$user" "$entry" import /tmp/notes.csv --into note) >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "import"; }
grep -q "2 inserted" "$work/log" || { cat "$work/log"; fail "no word about the rows"; }

# Prints how many notes the server has.
count_notes() {
  python3 - "$port" "$token" <<'PYTHON'
import json, sys, urllib.request
port, token = sys.argv[1:]
url = f"http://127.0.0.1:{port}/v1/objects/note?as=count"
request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
print(json.load(urllib.request.urlopen(request))["total"])
PYTHON
}

step "serves with a read-only root"
frozen=1
if (in_stage 0:0 sh -c ': >/probe') 2>/dev/null; then fail "the root can be written"; fi
start
[ "$(count_notes)" = 2 ] || fail "not the imported notes"
stop

step "makes a store on an empty volume with a read-only root, as another user"
own_user=$user
user=4711:4711
rm -rf "${root:?}"/data/*
chown "$user" "$root/data"
start
grep -q "an empty one was made" "$work/server.log" || fail "no word about the new store"
[ "$(awk '/^Uid:/ { print $2 }' "/proc/$server/status")" = 4711 ] || fail "wrong user"
(in_stage "$user" /opt/livefetch/livefetch alter /data/store.sqlite \
  'CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)') >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "alter"; }
stop

step "says what to do where the volume belongs to another user"
rm -rf "${root:?}"/data/*
user=$own_user
status=0
(in_stage "$user" PORT="$port" LIVEFETCH_TOKEN="$token" "$entry") >"$work/log" 2>&1 || status=$?
[ "$status" = 73 ] || fail "exit $status"
frozen=
step "passed"
