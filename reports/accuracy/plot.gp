# SPDX-License-Identifier: Apache-2.0
# Bank size against loss, one curve a sparsity: the paper's figures 7 (weights) and 8 (activations), from rows of the page of
# grid.sh.   gnuplot -e "page='FILE'; svg='FILE'; what='nats per token'" plot.gp
set terminal svg size 1200,420 font 'sans,11'
set output svg
set logscale x 2
set xtics (4, 8, 16, 32, 64, 128)
set xlabel 'bank'
set ylabel what
set grid
set key top right
sparsities = '0.5 0.75 0.875 0.9375'
curve(name, s) = sprintf("< awk -F' *[|] *' '$2 == \"%s\" && $3 == \"%s\" {for (i = 5; i < NF; i++) if ($i != \"\") print 2 ^ (i - 3), $i}' %s", name, s, page)
set multiplot layout 1,3
set title 'W(SQ)A4, 8/4 bits'
plot for [s in sparsities] curve('W(own 8/4)A4', s) with linespoints title 's = '.s
set title 'W4A(SQ) static, 8/4 bits'
plot for [s in sparsities] curve('W4A(own 8/4) static', s) with linespoints title 's = '.s
set title 'W4A(SQ) dynamic, 8/4 bits'
plot for [s in sparsities] curve('W4A(own 8/4) dynamic', s) with linespoints title 's = '.s
unset multiplot
