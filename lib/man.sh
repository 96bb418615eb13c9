#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# man.sh SQSIM DIR: a manual page of sqsim and of each of its commands, from what --help prints.
set -eo pipefail
SQSIM=$1 DIR=$2
command -v help2man >/dev/null || { echo "man: no help2man (Debian: help2man)" >&2; exit 3; }
mkdir -p "$DIR"
version=$("$SQSIM" --version | head -1)
page() { # NAME SUMMARY COMMAND
  # One line of usage, however long: of a broken one help2man puts the rest under DESCRIPTION.
  ARGP_HELP_FMT=rmargin=4000 help2man -N -s 1 -n "$2" --version-string "$version" "$3" |
    sed "s/^\.TH SQSIM /.TH ${1^^} /; s/^sqsim \\\\- /${1//-/\\\\-} \\\\- /" >"$DIR/$1.1.new"
  mv "$DIR/$1.1.new" "$DIR/$1.1"
}
page sqsim "simulator and RTL testbench for sparse-quantized LLM formats" "$SQSIM"
"$SQSIM" --complete | while IFS=$'\t' read -r name summary; do
  page "sqsim-$name" "$summary" "$SQSIM $name"
done
