#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make deb: packages that lintian finds nothing in, and that work where they are unpacked.
. "$(dirname "$0")/../cli/lib.sh"
unset SQSIM_HOME MAKEFLAGS MAKELEVEL MFLAGS
for tool in help2man dpkg-shlibdeps dpkg-deb; do
  command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 0; }
done
if make --no-print-directory -o build/sqsim -o build/libsqsim.so deb DEB="$W/deb" >"$W.out" 2>&1; then ok "make deb" true
else ok "make deb" false; sed 's/^/# /' "$W.out"; fi
if grep -q 'no lintian' "$W.out"; then skip "lintian finds nothing" "no lintian"
else ok "lintian finds nothing" [ -z "$(grep '^[EW]: ' "$W.out")" ]; fi
ok "three packages" [ "$(ls "$W"/deb/*.deb | wc -l)" = 3 ]
if command -v apt-get >/dev/null; then
  ok "apt would install them" [ "$(apt-get install -s "$W"/deb/*.deb 2>"$W.err" | grep -c '^Inst .*sqsim')" = 3 ]
else
  skip "apt would install them" "no apt-get"
fi
for d in "$W"/deb/*.deb; do dpkg-deb -x "$d" "$W/root"; done
ok "the library needs others" grep -q 'libopenblas\|liblapacke' <(dpkg-deb -f "$W"/deb/libsqsim0_*.deb Depends)
ok "the header needs the library" grep -q 'libsqsim0 (=' <(dpkg-deb -f "$W"/deb/libsqsim-dev_*.deb Depends)
ok "unpacked, the program runs" grep -q 'cycles' <("$W/root/usr/bin/sqsim" run --m 8 --n 64 --k 64 --timing-only)
lib=$(dirname "$(find "$W/root/usr/lib" -name 'libsqsim.so.0')")
export PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$W/root
if command -v pkg-config >/dev/null; then
  ok "a program compiles" gcc tests/package/mine.c -o "$W/mine" $(pkg-config --cflags --libs sqsim)
  ok "and runs" grep -q '^6.5000 bits' <(LD_LIBRARY_PATH=$lib "$W/mine")
else
  skip "a program compiles" "no pkg-config"
fi
finish
