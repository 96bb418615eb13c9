#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# page_pictures.sh SQSIM DIR: the page of a sweep in a headless Chromium, DIR/page_1280.png and
# DIR/page_390.png (in a frame of that width); DIR/page_mixed.png, the page of sim/sweeps/mixed.yaml.
# Says in one line which tool is missing.
set -e
skip() { echo "page-pictures: skipped $2: no $1 (Debian: chromium imagemagick)"; exit 0; }
command -v chromium >/dev/null || skip chromium "$2"
# Another program may be called convert.
convert -version 2>/dev/null | grep -q ImageMagick || skip "ImageMagick (convert)" "$2"
sqsim=$(realpath "$1") dir=$(realpath -m "$2") home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir -p "$dir"
cat >"$home/page.yaml" <<'END'
name: page
title: Bank size against sparsity, SQ(8,4), on a machine
axes:
  model: [traces/tiny-llama]
  machine: [sim/machines/default.yaml]
  m: [32]
  precision: [8/4]
  bank: [4..128*2]
  sparsity: [0.5, 0.75, 0.875, 0.9375]
measures: [relative_error, stored_bits, cycles, time_ms, memory_cycles, utilisation_low, causes]
END
"$sqsim" sweep "$home/page.yaml" --db "$home/page.db"
"$sqsim" report --db "$home/page.db" -o "$home/page" >/dev/null
"$sqsim" sweep sim/sweeps/mixed.yaml --db "$home/mixed.db"
"$sqsim" report --db "$home/mixed.db" -o "$home/mixed" >/dev/null
cat >"$home/phone.html" <<'END'
<!DOCTYPE html><title>390 px</title><body style="margin:0">
<iframe src="page/index.html" style="width:390px;height:2600px;border:0"></iframe>
END
look() { # PAGE WIDTH HEIGHT PNG
  (cd "$home" && HOME=$home timeout 300 chromium --headless=new --no-sandbox --disable-gpu \
    --disable-dev-shm-usage --hide-scrollbars --virtual-time-budget=8000 --window-size="$2,$3" \
    --screenshot="$home/$4" "file://$home/$1" >/dev/null 2>&1)
}
look page/index.html 1280 1900 page_1280.png
look mixed/index.html 1280 1500 page_mixed.png
look phone.html 600 2600 page_390.png
convert "$home/page_390.png" -crop 390x2600+0+0 +repage "$home/page_390.png"
for f in page_1280.png page_mixed.png page_390.png; do
  convert "$home/$f" -strip -colors 64 "PNG8:$dir/$f.new"
  mv "$dir/$f.new" "$dir/$f"
done
