#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Draws docs/pictures/*.svg from their sources: NAME.dot by graphviz, token.gp by gnuplot of what SQSIM says, NAME.json by wavedrom (PyPI, SQ_PYTHON).
set -eu
SQSIM=$(realpath "${1:-build/sqsim}")
cd "$(dirname "$0")/pictures"
python=${SQ_PYTHON:-python3}
command -v gnuplot >/dev/null || { echo "doc-pictures: skipped: no gnuplot"; exit 0; }
command -v dot >/dev/null || { echo "doc-pictures: skipped: no dot (Debian's graphviz)"; exit 0; }
for source in *.dot; do
  dot -Tsvg "$source" -o "${source%.dot}.svg.new" && mv "${source%.dot}.svg.new" "${source%.dot}.svg"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
units='s/  writes: .*/&\n  encoder: yes\n  vector: yes\n  attend: 2\n  head: 32/'
sed "$units" ../../sim/machines/chip.yaml >"$work/chip.yaml"
sed "$units; s/rows: .*/rows: 1/; s/cols: .*/cols: 1/" ../../sim/machines/chip.yaml >"$work/one.yaml"
for format in nvfp4 "dense --weight-bits 8" sq_w sq_b gqsa; do
  machine=chip name=$format
  case $format in dense*) name=W8A8 ;; gqsa) machine=one name="gqsa, one PE" ;; esac
  # shellcheck disable=SC2086
  "$SQSIM" run --phase decode --context 64 --machine "$work/$machine.yaml" --format $format --json >"$work/run"
  [ -s "$work/tsv" ] || sed -n 's/.*"part":"\([^"]*\)".*/\1/p' "$work/run" | paste -s | sed 's/^/format\t/' >"$work/tsv"
  sed -n 's/.*"part":.*"cycles":\([0-9]*\).*/\1/p' "$work/run" | paste -s | sed "s/^/$name\t/" >>"$work/tsv"
done
gnuplot -e "tsv='$work/tsv'; svg='token.svg.new'" token.gp && mv token.svg.new token.svg
"$python" -c 'import wavedrom' 2>/dev/null || { echo "doc-pictures: waveforms skipped: $python has no wavedrom"; exit 0; }
for source in *.json; do
  "$python" - "$source" "${source%.json}.svg.new" <<'PY' && mv "${source%.json}.svg.new" "${source%.json}.svg"
import sys
import wavedrom
wavedrom.render(open(sys.argv[1]).read()).saveas(sys.argv[2])
PY
done
