#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first file of records in this folder that has times of a machine's GPU, nothing where none has:
# records.sh SQSIM MACHINE
set -euo pipefail
for f in "$(dirname "$0")"/*.jsonl; do
  if [ -f "$f" ] && "$1" compare --machine "$2" --gpu "$f" --m 1 >/dev/null 2>&1; then
    echo "$f"
    exit
  fi
done
