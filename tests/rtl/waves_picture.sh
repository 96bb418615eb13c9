#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waves_picture.sh DIR PNG: how GTKWave shows DIR/wave.fst with DIR/wave.gtkw, as a picture. Says in
# one line which tool is missing and leaves PNG as it is.
set -e
for tool in Xvfb xvfb-run gtkwave import; do
  command -v $tool >/dev/null || {
    echo "waves-picture: skipped $2: no $tool (Debian: gtkwave xvfb xauth imagemagick)"
    exit 0
  }
done
png=$(realpath -m "$2")
cd "$1"
export png
# The window is drawn some time after the program starts: two pictures in a row that are the same,
# and of more than one colour, are taken.
GDK_BACKEND=x11 xvfb-run -a -s "-screen 0 1200x680x24" bash -c '
  gtkwave wave.gtkw >/dev/null 2>&1 & viewer=$!
  for ((i = 0; i < 60; i++)); do
    sleep 2
    import -window root "$png.new.png"
    [ "$(identify -format %k "$png.new.png")" -lt 20 ] || ! cmp -s "$png.new.png" "$png.old.png" || break
    mv "$png.new.png" "$png.old.png"
  done
  kill $viewer'
rm -f "$png.old.png"
convert "$png.new.png" -strip -crop 1140x581+44+99 +repage -colors 32 "PNG8:$png.new.png"
mv "$png.new.png" "$png"
