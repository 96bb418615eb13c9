# SPDX-License-Identifier: Apache-2.0
# The picture of act_banks.yaml: gnuplot -e "csv='IN'; svg='OUT'" act_banks.gp
set terminal svg size 1080,360 dynamic font "sans,11" background "white"
set output svg
set datafile separator ","
set datafile missing NaN
set key autotitle columnhead
set multiplot layout 1,3
set logscale x 2
set xtics (4, 8, 16, 32, 64, 128)
set xrange [3.5:150]
set yrange [0:60]
set xlabel "bank"
set grid lc rgb "#d0d7de"
set key top left
# columns by head: the rows of one unit and one sparsity; static masks have no unit
at(f, t, s) = strcol("format") eq f && (t eq "" || strcol("topk") eq t) && column("sparsity") == s \
  ? column("cycles") / 1000 : NaN
do for [i = 1:3] {
  f = word("sq_a_static sq_a_dynamic sq_a_dynamic", i)
  t = i == 1 ? "" : word("_ rank radix", i)
  set title (i == 1 ? "static mask" : "dynamic mask, TopK by ".t).", 10^3 cycles"
  plot for [s in "0.5 0.75 0.875 0.9375"] csv using (column("bank")):(at(f, t, s + 0)) \
    with linespoints pt 7 ps 0.6 title "s = ".s
  unset key
}
unset multiplot
