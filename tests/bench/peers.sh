#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# peers.sh BUILD: peers beside sqsim in one run, as far as pip can install them into BUILD/peers: llama.cpp
# (llama-cpp-python, built from source with this machine's instructions) and SCALE-Sim. What is missing is said
# and skipped; nothing of sqsim needs them. The first run compiles for several minutes, at low priority.
set -uo pipefail
build=$1 venv=$1/peers/venv
mkdir -p "$build/peers"
skipped() { echo "bench-peers: skipped $1: $2"; }
python3 -m venv "$venv" 2>/dev/null || { skipped "all peers" "python3 cannot make an environment (Debian: python3-venv)"; exit 0; }
# has MODULE PACKAGE...: the module imports, or pip installs it.
has() {
  local module=$1; shift
  "$venv/bin/python" -c "import $module" 2>/dev/null && return
  echo "bench-peers: installing $* into $venv"
  nice -n 15 "$venv/bin/pip" install -q --disable-pip-version-check "$@" >"$build/peers/$module.log" 2>&1 &&
    "$venv/bin/python" -c "import $module" 2>/dev/null
}
if [ ! -f "$build/smollm2/model.gguf" ]; then
  skipped llama.cpp "no $build/smollm2/model.gguf: make smollm2 fetches it"
elif has llama_cpp --no-binary llama-cpp-python llama-cpp-python==0.3.36 'numpy<2'; then
  "$venv/bin/python" tests/bench/peers.py llama "$build/sqsim" "$build/smollm2/model.gguf" \
    "$build/smollm2/tokens_eval.safetensors" || exit 3
else
  skipped llama.cpp "pip cannot build llama-cpp-python, see $build/peers/llama_cpp.log"
fi
echo
# SCALE-Sim 3.0.0 needs numpy 1.
if has scalesim scalesim==3.0.0 'numpy<2'; then
  "$venv/bin/python" tests/bench/peers.py scalesim "$build/sqsim" "$build/peers" || exit 3
else
  skipped SCALE-Sim "pip cannot install scalesim, see $build/peers/scalesim.log"
fi
echo
echo "revision $(reports/revision.sh), $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)"
