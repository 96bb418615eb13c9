# SPDX-License-Identifier: Apache-2.0
# Bank size against loss or error, one curve a sparsity: the paper's figures 7 (weights) and 8
# (activations).   gnuplot -e "csv='FILE'; svg='FILE'; what='nats per token'" plot.gp
set terminal svg size 1200,420 font 'sans,11'
set output svg
set datafile separator ','
set logscale x 2
set xtics (4, 8, 16, 32, 64, 128)
set xlabel 'bank'
set ylabel what
set grid
set key top right
sparsities = '0.5 0.75 0.875 0.9375'
pick(format, act) = sprintf("< awk -F, '$1==\"grid\" && $2==\"%s\" && $3==\"own\" && $4==8 && $5==4 && ($9==%d || %d==0)' %s | sort -t, -k6,6n", format, act, act, csv)
curve(format, act, s) = sprintf("%s | awk -F, '$7==\"%s\"'", pick(format, act), s)
set multiplot layout 1,3
set title 'W(SQ)A4, 8/4 bits'
plot for [s in sparsities] curve('sq_w', 4, s) using 6:14 with linespoints title 's = '.s
set title 'W4A(SQ) static, 8/4 bits'
plot for [s in sparsities] curve('sq_a_static', 0, s) using 6:14 with linespoints title 's = '.s
set title 'W4A(SQ) dynamic, 8/4 bits'
plot for [s in sparsities] curve('sq_a_dynamic', 0, s) using 6:14 with linespoints title 's = '.s
unset multiplot
