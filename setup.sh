#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages sqsim needs and does not find. Silent when nothing is missing. FIRMWARE=1: the compiler of
# lib/firmware, too.
set -eu

# package, and a file or program that shows it is there
needed() {
    cat <<LIST
gcc gcc
g++ g++
make make
ccache ccache
verilator verilator
iverilog iverilog
yosys yosys
bubblewrap bwrap
gnuplot-nox gnuplot
opensta sta
clang-format clang-format
cppcheck cppcheck
perl prove
xz-utils xz
help2man help2man
pkg-config pkg-config
python3 python3
libjansson-dev /usr/include/jansson.h
libcmocka-dev /usr/include/cmocka.h
libopenblas-dev /usr/include/*/openblas*/openblas_config.h
liblapacke-dev /usr/include/lapacke.h
zlib1g-dev /usr/include/zlib.h
libsqlite3-dev /usr/include/sqlite3.h
libxxhash-dev /usr/include/xxhash.h
libpcre2-dev /usr/include/pcre2.h
libutf8proc-dev /usr/include/utf8proc.h
nettle-dev /usr/include/nettle/sha2.h
libcsv-dev /usr/include/csv.h
libcyaml-dev /usr/include/cyaml/cyaml.h
libyaml-dev /usr/include/yaml.h
libsystemc-dev /usr/include/systemc.h
libjs-d3 /usr/share/javascript/d3/d3.min.js
qflow-tech-osu018 /usr/share/qflow/tech/osu018/osu018_stdcells.lib
LIST
    [ "${FIRMWARE:-}" != 1 ] || echo gcc-riscv64-unknown-elf riscv64-unknown-elf-gcc
}

missing=$(needed | while read -r package proof; do
    case $proof in
    /*) for file in $proof; do [ -e "$file" ] || echo "$package"; break; done ;;
    *) command -v "$proof" > /dev/null || echo "$package" ;;
    esac
done)
[ -n "$missing" ] || exit 0
missing=$(echo $missing)

if ! command -v apt-get > /dev/null; then
    echo "setup: no apt-get here; sqsim needs what Debian 12 calls: $missing" >&2
    exit 3
fi
if [ "$(id -u)" = 0 ]; then
    sudo=
elif command -v sudo > /dev/null; then
    sudo=sudo
else
    echo "setup: neither root nor sudo; please install: $missing" >&2
    exit 3
fi
echo "setup: installing $missing"
$sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
