#!/bin/sh
# The build stage: builds the release binary and lays out what the run stage needs under $1,
# as it is laid out under / there. The resources must be beside the binary.
set -eu
destination=${1:?usage: build.sh DESTINATION}
cd "$(dirname "$0")/.."

# `livefetch --version` shows it.
export LIVEFETCH_COMMIT="${LIVEFETCH_COMMIT:-$(git rev-parse HEAD 2>/dev/null || true)}"
# Package.swift then takes exact versions of the dependencies, also if no commit is known.
export LIVEFETCH_EXACT_VERSIONS=true

# Of the product, and of the module whose documentation is made, with the same options.
set -- -c release --static-swift-stdlib -Xlinker -s --scratch-path .build-image
swift build "$@" --product livefetch
built=$(swift build "$@" --show-bin-path)

home=$destination/opt/livefetch
# An earlier build may have had other files.
rm -rf "$home"
mkdir -p "$home" "$destination/usr/local/bin"
cp "$built/livefetch" "$home/"
cp -R "$built/LiveFetch_LiveFetchCommand.resources" "$home/"
cp docker/entrypoint.sh docker/health.sh "$home/"

# The licences of the project and of what is linked into the program. The libraries of Debian that
# it loads have theirs in their own packages.
notice() { printf '\n---- %s ----\n\n' "$1"; cat "$2"; }
swift=$(swift -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
checkouts=.build-image/checkouts
{
  cat LICENSE
  for file in "$checkouts"/*/LICENSE* "$checkouts"/*/NOTICE*; do
    notice "${file#"$checkouts/"}" "$file"
  done
  notice swift/LICENSE.txt "$swift/../../share/swift/LICENSE.txt"
} >"$home/copyright"
bash .ci/docs "$home/swift-documentation" "$@"
chmod 755 "$home/livefetch" "$home/entrypoint.sh" "$home/health.sh"
ln -sf /opt/livefetch/livefetch "$destination/usr/local/bin/livefetch"
