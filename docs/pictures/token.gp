# SPDX-License-Identifier: Apache-2.0
# Cycles of a token by part: gnuplot -e "tsv='IN'; svg='OUT'" token.gp; IN has a row for each format and a column for each part.
set terminal svg size 860,360 dynamic noenhanced font "sans,11" background "white"
set output svg
set datafile separator "\t"
set key autotitle columnhead outside right invert reverse Left
set style data histogram
set style histogram rowstacked
set style fill solid 0.85 noborder
set boxwidth 0.7
set yrange [0:*]
set grid ytics lc rgb "#d0d7de"
set title "the 64th token of a text by tiny-llama: thousands of cycles by part"
colors = "#8c959f #0969da #54aeff #8250df #bf3989 #cf222e #fa4549 #d4a72c #1a7f37 #4ac26b #116329 #57606a"
plot for [i = 2:13] tsv using (column(i) / 1000):xtic(1) lc rgb word(colors, i - 1)
