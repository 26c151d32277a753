#!/usr/bin/env bash
# Proves the image without a Docker engine, on Debian 12 as root: runs the build stage here and
# the run stage in a fresh minimal Debian, starts the entry point there as the image's user, and
# checks the refusal without a token, readiness, one fetch, and the exit after SIGTERM.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "prove: $1" >&2; exit 1; }
step() { echo "prove: $1"; }

[ "$(id -u)" = 0 ] || fail "needs root, for chroot"
grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || fail "needs Debian 12, as the image is"
command -v debootstrap >/dev/null || bash .ci/install debootstrap

work=$(mktemp -d)
root=$work/root
server=
finish() {
  if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT

# The stage's own view: its mounts vanish with the last process in it.
in_stage() {
  exec unshare --mount sh -c '
    mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"
    root=$1; user=$2; shift 2
    exec chroot --userspec="$user" "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
  ' in_stage "$root" "$@"
}

step "build stage"
sh docker/build.sh "$work/out" >"$work/build.log" 2>&1 || { cat "$work/build.log"; fail "build"; }

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

image() { sed -n "s/^$1 //p" docker/Dockerfile | tail -n 1; }
user=$(image USER)
entry=$(image ENTRYPOINT | tr -d '[]"')
port=$(python3 -c 'import socket
probe = socket.socket(); probe.bind(("127.0.0.1", 0)); print(probe.getsockname()[1])')
token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')

step "refuses to start without a token"
if (in_stage "$user" PORT="$port" "$entry" demo) >"$work/log" 2>&1; then fail "started"; fi
grep -q LIVEFETCH_TOKEN "$work/log" || fail "no word about the token"

step "starts as user $user"
(in_stage "$user" PORT="$port" LIVEFETCH_TOKEN="$token" "$entry" demo) >"$work/server.log" 2>&1 &
server=$!
ready=no
for _ in $(seq 100); do
  if (in_stage "$user" PORT="$port" /opt/livefetch/health.sh) 2>/dev/null; then ready=yes; break; fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
[ "$ready" = yes ] || { cat "$work/server.log"; fail "not ready within 10 s"; }
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
kill -TERM "$server"
status=0
wait "$server" || status=$?
server=
[ "$status" = 0 ] || { cat "$work/server.log"; fail "exit $status"; }
step "passed"
