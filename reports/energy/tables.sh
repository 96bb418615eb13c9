#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tables.sh [BOARDS.csv]: every table of energy.csv and tokens.csv; with the file of measured boards, those beside the PEs as well.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
head -1 energy.csv | sed 's/^# \(.*\)/<!-- \1 -->/; s/; / | /g'
awk -f table.awk pes.txt energy.csv
awk -f banks.awk energy.csv
[ -z "${1:-}" ] || awk -f boards.awk "$1" energy.csv
awk -f tokens.awk tokens.csv
