#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waves_picture.sh SQSIM PNG: how GTKWave shows what `sqsim cosim` leaves of a failing case: a copy of
# the RTL in which the gather loses bit 2 of one lane. Says in one line which tool is missing and
# leaves PNG as it is.
set -e
for tool in Xvfb xvfb-run gtkwave import; do
  command -v $tool >/dev/null || {
    echo "waves-picture: skipped $2: no $tool (Debian: gtkwave xvfb xauth imagemagick)"
    exit 0
  }
done
sqsim=$(realpath "$1") png=$(realpath -m "$2") home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
"$(dirname "$0")/gather_bug.sh" "$home"
SQSIM_HOME=$home "$sqsim" cosim --block gather --point p03 --cases 40 -o "$home/waves" && exit 1
cd "$home"/waves/*/
export png
# The window is drawn some time after the program starts: two pictures in a row that are the same,
# and of more than one colour, are taken.
GDK_BACKEND=x11 xvfb-run -a -s "-screen 0 1400x760x24" bash -c '
  gtkwave wave.gtkw >/dev/null 2>&1 & viewer=$!
  for ((i = 0; i < 60; i++)); do
    sleep 2
    import -window root "$png.new.png"
    [ "$(identify -format %k "$png.new.png")" -lt 20 ] || ! cmp -s "$png.new.png" "$png.old.png" || break
    mv "$png.new.png" "$png.old.png"
  done
  kill $viewer'
rm -f "$png.old.png"
convert "$png.new.png" -strip -crop 1344x606+44+99 +repage -colors 32 "PNG8:$png.new.png"
mv "$png.new.png" "$png"
