#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The index maps of the kernels against CuTe (cute_layouts.cpp), where its headers are: CUTLASS names
# the folder, or the Python package nvidia-cutlass has them. They need the headers of CUDA.
CXX=${CXX_GPU:-g++}
CUDA_INCLUDE=${CUDA_INCLUDE:-/usr/local/cuda/include}
CUTLASS=${CUTLASS:-$(python3 -c 'import importlib.util as u
s = u.find_spec("cutlass_library")
print(list(s.submodule_search_locations)[0] + "/source/include" if s else "")' 2>/dev/null)}
[ -e "$CUTLASS/cute/tensor.hpp" ] || { echo "1..0 # SKIP no CuTe headers (CUTLASS=DIR, or PyPI nvidia-cutlass)"; exit 0; }
[ -e "$CUDA_INCLUDE/cuda_runtime.h" ] || { echo "1..0 # SKIP no headers of CUDA (CUDA_INCLUDE=DIR)"; exit 0; }
W=$(mktemp -d "${TMPDIR:-/tmp}/sq-cute-XXXXXX")
trap 'rm -rf "$W"' EXIT
if ! $CXX -std=c++17 -O1 -w -I. -I"$CUTLASS" -I"$CUDA_INCLUDE" -I"$CUDA_INCLUDE/cccl" \
  tests/gpu/cute_layouts.cpp -o "$W/layouts" 2>"$W/err"; then
  echo "not ok 1 - cute_layouts.cpp compiles"
  head -5 "$W/err" | sed 's/^/# /'
  echo 1..1
  exit 1
fi
"$W/layouts"
