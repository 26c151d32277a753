#!/bin/sh
# The run stage, in a slim Debian: the libraries that the binary is linked with, curl for the health
# check, the user that runs it, and the folder of its data, without what only administration needs.
set -eu
export DEBIAN_FRONTEND=noninteractive

apt-get update -qq
apt-get install -y -qq --no-install-recommends libmicrohttpd12 libsqlite3-0 libcurl4 libgnutls30 zlib1g \
  libpq5 ca-certificates curl >/dev/null
rm -rf /var/lib/apt/lists/*

groupadd --system --gid 10001 livefetch
useradd --system --uid 10001 --gid 10001 --home-dir /data --shell /usr/sbin/nologin livefetch
install -d -o livefetch -g livefetch -m 750 /data

# What installs and administers a system is removed: nothing in the image uses it. The scripts of the
# first packages need Perl and debconf. `--force-bad-path`: dpkg goes on without diff and tar.
remove() {
  dpkg --purge --force-depends --force-remove-essential --force-bad-path "$@" >/tmp/removal 2>&1 ||
    { cat /tmp/removal; exit 1; }
}
remove adduser apt bsdutils e2fsprogs gpgv libapt-pkg6.0 libdb5.3 libext2fs2 libpam-modules \
  libpam-modules-bin libpam-runtime libpam0g libsemanage2 login mount passwd util-linux util-linux-extra
remove debconf diffutils perl-base tar
remove dpkg
rm -rf /tmp/removal /var/cache/* /var/log/*
