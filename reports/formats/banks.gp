# SPDX-License-Identifier: Apache-2.0
# KL of SmolLM2 against the bank, the paper's Figures 7 (weights) and 8 (activations), as far as smollm2.csv has it:
# gnuplot -e "csv='reports/accuracy/smollm2.csv'; svg='OUT'" banks.gp
set terminal svg size 1200,420 font 'sans,11' background "white"
set output svg
set datafile separator ','
set logscale xy
set format y '%g'
set xtics (4, 8, 16, 32, 64, 128)
set xrange [6:170]
set xlabel 'bank'
set yrange [0.01:1]
set ylabel 'KL, nats a token'
set grid
# Lines bank,KL,low,high of the variants that say no more than operand, sparsity and bank (32 where they say none), unsmoothed.
curve(format, s) = sprintf("< awk -F, '$1 ~ /^%s sparsity=%s( bank=[0-9]+)?( smooth=none)?$/ {b = 32; if (match($1, /bank=/)) b = substr($1, RSTART + 5); " \
  ."print b \",\" $7 \",\" $8 \",\" $9}' %s | sort -t, -k1,1n", format, s, csv)
set multiplot layout 1,3
set title 'SQ 8/4 weights, GPTQ, activations as they are'
plot for [s in '0.75 0.875'] curve('sq_w operand=weights', s) using 1:2:3:4 with yerrorlines pt 7 ps 0.6 title 's = '.s
set title 'SQ 8/4 activations, static masks'
plot for [s in '0.5 0.75 0.875'] curve('sq_a_static operand=act', s) using 1:2:3:4 with yerrorlines pt 7 ps 0.6 title 's = '.s
set title 'SQ 8/4 activations, dynamic masks'
plot for [s in '0.5 0.75 0.875 0.9375'] curve('sq_a_dynamic operand=act', s) using 1:2:3:4 with yerrorlines pt 7 ps 0.6 title 's = '.s
unset multiplot
