#!/bin/sh
# The build stage: builds the release binary and lays out what the run stage needs under $1,
# as it shall stand under / there. The resources must stand beside the binary.
set -eu
destination=${1:?usage: build.sh DESTINATION}
cd "$(dirname "$0")/.."

set -- -c release --static-swift-stdlib -Xlinker -s --product livefetch --scratch-path .build-image
swift build "$@"
built=$(swift build "$@" --show-bin-path)

home=$destination/opt/livefetch
mkdir -p "$home" "$destination/usr/local/bin"
cp "$built/livefetch" "$home/"
cp -R "$built/LiveFetch_LiveFetchCommand.resources" "$home/"
cp docker/entrypoint.sh docker/health.sh "$home/"
chmod 755 "$home/livefetch" "$home/entrypoint.sh" "$home/health.sh"
ln -sf /opt/livefetch/livefetch "$destination/usr/local/bin/livefetch"
