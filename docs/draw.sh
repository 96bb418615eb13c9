#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws docs/pictures/*.svg from their sources: NAME.dot by graphviz, NAME.json by wavedrom (PyPI, SQ_PYTHON).
set -eu
cd "$(dirname "$0")/pictures"
python=${SQ_PYTHON:-python3}
command -v dot >/dev/null || { echo "doc-pictures: skipped: no dot (Debian's graphviz)"; exit 0; }
for source in *.dot; do
  dot -Tsvg "$source" -o "${source%.dot}.svg.new" && mv "${source%.dot}.svg.new" "${source%.dot}.svg"
done
"$python" -c 'import wavedrom' 2>/dev/null || { echo "doc-pictures: waveforms skipped: $python has no wavedrom"; exit 0; }
for source in *.json; do
  "$python" - "$source" "${source%.json}.svg.new" <<'PY' && mv "${source%.json}.svg.new" "${source%.json}.svg"
import sys
import wavedrom
wavedrom.render(open(sys.argv[1]).read()).saveas(sys.argv[2])
PY
done
