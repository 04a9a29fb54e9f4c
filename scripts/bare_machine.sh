#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Does what the README says on a machine that has nothing but git and python3: a bare Debian, made below
# build/bare, and in it a clone of what is committed here. Needs root and mmdebstrap.
#
#   bare_machine.sh [SUITE]     default: bookworm (Debian 12); trixie is Debian 13
#
# Exit status 0: every command of the README succeeded; 2: the arguments are wrong; 77: the machine
# cannot be made here; another one: that of the command that failed.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
  echo "bare_machine.sh: it takes the name of one suite, not \"$*\". Try $0 --help" >&2
  exit 2
fi

cd "$(dirname "$0")/.."
suite=${1:-bookworm}
root=$PWD/build/bare/$suite

skip() {
  echo "skipped: $1"
  exit 77
}

[ "$(id -u)" -eq 0 ] || skip "only root can make a bare machine"
command -v mmdebstrap > /dev/null || skip "there is no mmdebstrap"
# shellcheck disable=SC2016  # the names are apt-get's
mirror=$(apt-get indextargets --format '$(ORIGIN)|$(CREATED_BY)|$(REPO_URI)' |
  awk -F '|' '$1 == "Debian" && $2 == "Packages" { print $3; exit }')
[ -n "$mirror" ] || skip "apt knows no Debian mirror"

mkdir -p "${root%/*}"
rm -rf "$root"
mmdebstrap --quiet --variant=minbase --include=ca-certificates,git,python3 "$suite" "$root" \
  "deb $mirror $suite main" || skip "mmdebstrap cannot make $suite"
# How this machine reaches mirrors and an index of Python packages, it does in there.
for file in /etc/pip.conf /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt \
  $(grep -l '^Acquire::' /etc/apt/apt.conf.d/*); do
  [ ! -e "$file" ] || cp -L "$file" "$root$file"
done
git clone --quiet . "$root/ringside"

cat > "$root/readme" << 'END'
set -e
cd /ringside
test/docs/readme_commands.py README.md > /commands
while read -r command; do
  echo "$(date +%T) \$ $command"
  bash -c "$command" < /dev/null
done < /commands
date +%T
END
# shellcheck disable=SC2016  # its own shell expands them
unshare --mount --pid --fork bash -c '
  set -e
  mount -t proc proc "$1/proc"
  mount -t sysfs sysfs "$1/sys"
  mount --rbind /dev "$1/dev"
  mount -t tmpfs tmpfs "$1/dev/shm"
  exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    chroot "$1" bash /readme' bash "$root"
