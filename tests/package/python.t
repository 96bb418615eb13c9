#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make wheel, and the Python package out of it: tests/python by pytest, where PYTHON has numpy and
# pytest. pip installs the wheel where it is; elsewhere it is unpacked, which for a wheel is the same.
. "$(dirname "$0")/../cli/lib.sh"
unset SQSIM_HOME MAKEFLAGS MAKELEVEL MFLAGS
PYTHON=${PYTHON:-python3}
command -v "$PYTHON" >/dev/null || { echo "1..0 # SKIP no $PYTHON"; exit 0; }
PYTHON=$(command -v "$PYTHON")
wheel() { make --no-print-directory -o all wheel WHEEL="$W/wheel" PYTHON="$PYTHON" >"$W.out"; }
ok "make wheel" wheel
wheel=$(echo "$W"/wheel/*.whl)
ok "is complete" "$PYTHON" - "$wheel" <<'END'
import base64, hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
record = next(n for n in wheel.namelist() if n.endswith("/RECORD"))
rows = [line.split(",") for line in wheel.read(record).decode().splitlines()]
assert sorted(name for name, _, _ in rows) == sorted(wheel.namelist())
for name, digest, size in rows[:-1]:
    data = wheel.read(name)
    want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    assert digest == "sha256=" + want and int(size) == len(data), name
assert "sqsim/libsqsim.so" in wheel.namelist()
assert "sqsim/share/sqsim/sim/machines/edge4.yaml" in wheel.namelist()
END
if "$PYTHON" -m pip --version >/dev/null 2>&1; then
  ok "pip installs it" "$PYTHON" -m pip install -q --no-deps --no-index --root-user-action ignore --disable-pip-version-check --target "$W/site" "$wheel"
else
  skip "pip installs it" "no pip"
  "$PYTHON" -m zipfile -e "$wheel" "$W/site"
fi
if ! "$PYTHON" -c 'import numpy' 2>/dev/null; then
  skip "it computes" "no numpy"
elif ! "$PYTHON" -c 'import pytest' 2>/dev/null; then
  skip "its tests" "no pytest"
else
  cd "$W" || exit 1
  if PYTHONPATH=$W/site PYTHONDONTWRITEBYTECODE=1 timeout $HANG "$PYTHON" -m pytest -q -rs --tb=short -p no:cacheprovider \
      "$ROOT/tests/python" >"$W.out" 2>&1; then ok "its tests: $(tail -1 "$W.out")" true
  else ok "its tests" false; fi
  sed 's/^/# /' "$W.out" | tail -40
  cd "$ROOT" || exit 1
fi
finish
