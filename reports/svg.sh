#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# svg.sh FILE: gnuplot's SVG with a line for each curve: groups without content and line ends go, the picture stays.
set -eu
tr '\n\t' '  ' <"$1" | sed -E ':a; s/<g [^>]*> *<\/g>//g; ta; s/ +/ /g; s/(-->|\?>|<\/defs>|<\/desc>) */\1\n/g; s/<g id="gnuplot_plot/\n&/g; s/$/\n/' >"$1.new"
mv "$1.new" "$1"
