#!/bin/sh
# The run stage, in a slim Debian: the libraries that the binary is linked with, curl for the health
# check, the user that runs it, and the folder of its data.
set -eu
export DEBIAN_FRONTEND=noninteractive

apt-get update -qq
apt-get install -y -qq --no-install-recommends libmicrohttpd12 libsqlite3-0 libcurl4 libgnutls30 zlib1g \
  libpq5 ca-certificates curl >/dev/null
rm -rf /var/lib/apt/lists/*

groupadd --system --gid 10001 livefetch
useradd --system --uid 10001 --gid 10001 --home-dir /data --shell /usr/sbin/nologin livefetch
install -d -o livefetch -g livefetch -m 750 /data
