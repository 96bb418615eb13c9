#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deb.sh DIR VERSION MAKE: Debian packages of `make install` into DIR: sqsim (program, data), libsqsim0
# (the library), libsqsim-dev (header, pkg-config). dpkg-deb and dpkg-shlibdeps make them; lintian,
# where it is installed, must find nothing.
set -eo pipefail
DIR=$(realpath -m "$1") VERSION=$2 MAKE=$3
for tool in dpkg-deb dpkg-shlibdeps dpkg-architecture; do
  command -v $tool >/dev/null || { echo "deb: no $tool (Debian: dpkg-dev)" >&2; exit 3; }
done
ARCH=$(dpkg-architecture -qDEB_HOST_ARCH) MULTI=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
MAJOR=${VERSION%%.*}
# The same sources give the same packages: times are those of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
WHO="${DEBFULLNAME:-sqsim developers} <${DEBEMAIL:-sqsim@example.org}>"
rm -rf "$DIR"
mkdir -p "$DIR"
umask 022
all=$DIR/all
# Programs and library are there: make deb built them.
"$MAKE" --no-print-directory -o build/sqsim -o build/libsqsim.so install DESTDIR="$all" PREFIX=/usr LIBDIR="/usr/lib/$MULTI" \
  ZSHDIR=/usr/share/zsh/vendor-completions
strip --strip-unneeded --remove-section=.comment "$all/usr/bin/sqsim" "$all/usr/lib/$MULTI/libsqsim.so.$VERSION"
strip --strip-debug --enable-deterministic-archives "$all/usr/lib/$MULTI/libsqsim-sysc.a"
gzip -9n "$all"/usr/share/man/man1/*
find "$all/usr/share/sqsim" -name '*.sh' -exec chmod 755 {} +

# Each package takes its files; sqsim what is left.
take() { # PACKAGE PATH...
  local to=$DIR/$1 path; shift
  for path; do
    mkdir -p "$to/$(dirname "$path")"
    mv "$all/$path" "$to/$path"
  done
}
take libsqsim-dev usr/include "usr/lib/$MULTI"/{pkgconfig,cmake,libsqsim.so,libsqsim-sysc.a,libsqsim-driver.a}
take "libsqsim$MAJOR" "usr/lib/$MULTI"
mv "$all" "$DIR/sqsim"

doc() { # PACKAGE: copyright and changelog
  local to=$DIR/$1/usr/share/doc/$1
  mkdir -p "$to"
  cat >"$to/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: sqsim

Files: *
Copyright: $(date -ud "@$SOURCE_DATE_EPOCH" +%Y) sqsim developers
License: Apache-2.0
 On Debian systems the full text of the license is in
 /usr/share/common-licenses/Apache-2.0.
END
  [ "$1" != sqsim ] || cat >>"$to/copyright" <<END

Files: usr/bin/sqsim
Copyright: $(date -ud "@$SOURCE_DATE_EPOCH" +%Y) sqsim developers, 2013 Michael Bostock
License: Apache-2.0 and BSD-3-Clause
Comment: D3 is inside, for the page of sqsim report.

License: BSD-3-Clause
$(sed -n '/^Redistribution and use/,/-->$/p' sim/sweep/sq_report.html | sed 's/ -->$//; s/^$/./; s/^/ /')
END
  { echo "sqsim ($VERSION) unstable; urgency=low"; echo
    echo "  * CHANGELOG.md of the sources says what is new."; echo
    echo " -- $WHO  $(date -uRd "@$SOURCE_DATE_EPOCH")"; } | gzip -9n >"$to/changelog.gz"
}
depends() { # FILE...: of programs and libraries, ours from beside them
  mkdir -p "$DIR/work/debian"
  echo "Source: sqsim" >"$DIR/work/debian/control"
  (cd "$DIR/work" && dpkg-shlibdeps -O "$@" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}
package() { # NAME SECTION DEPENDS EXTRA < DESCRIPTION
  local root=$DIR/$1
  doc "$1"
  mkdir -p "$root/DEBIAN"
  { echo "Package: $1"; echo "Source: sqsim"; echo "Version: $VERSION"; echo "Architecture: $ARCH"
    echo "Maintainer: $WHO"; echo "Installed-Size: $(du -k -s --apparent-size "$root" | cut -f1)"
    [ -z "$3" ] || echo "Depends: $3"
    [ -z "$4" ] || echo "$4"
    echo "Section: $2"; echo "Priority: optional"; cat; } >"$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz -b "$root" "$DIR/$1_${VERSION}_$ARCH.deb" >/dev/null
}
mkdir -p "$DIR/libsqsim$MAJOR/DEBIAN"
echo "libsqsim $MAJOR libsqsim$MAJOR (>= $VERSION)" >"$DIR/libsqsim$MAJOR/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$DIR/libsqsim$MAJOR/DEBIAN/triggers"
package "libsqsim$MAJOR" libs "$(depends "$DIR/libsqsim$MAJOR/usr/lib/$MULTI/libsqsim.so.$VERSION")" \
  "Multi-Arch: same" <<END
Description: models of sparse-quantized LLM formats - library
 Encodes weights in sparse-quantized formats, multiplies them in the bit-exact
 integers of a hardware datapath, and says how many cycles and bytes that takes.
 .
 This package holds the shared library.
END
package libsqsim-dev libdevel "libsqsim$MAJOR (= $VERSION)" "Recommends: libsystemc-dev
Multi-Arch: same" <<END
Description: models of sparse-quantized LLM formats - development
 Encodes weights in sparse-quantized formats, multiplies them in the bit-exact
 integers of a hardware datapath, and says how many cycles and bytes that takes.
 .
 This package holds the header and what pkg-config reads.
END
package sqsim science "$(depends "$DIR/sqsim/usr/bin/sqsim")" \
  "Recommends: bubblewrap, g++, make, opensta, qflow-tech-osu018, verilator, yosys
Suggests: gnuplot-nox, gtkwave" <<END
Description: simulator and RTL testbench for sparse-quantized LLM formats
 What a format costs in accuracy, cycles, bytes and area, from the same tensors,
 checked bit for bit and cycle for cycle against the hardware in SystemVerilog.
 .
 A small trained model, tables of GEMMs of large ones, machines and the RTL are
 included.
END
rm -rf "$DIR/work" "$DIR/sqsim" "$DIR/libsqsim$MAJOR" "$DIR/libsqsim-dev"
ls "$DIR"/*.deb
if command -v lintian >/dev/null; then
  # No upload to Debian is meant: no bug of "intent to package" closes with it.
  lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$DIR"/*.deb
else
  echo "deb: skipped the check of the packages: no lintian"
fi
