# SPDX-License-Identifier: Apache-2.0
# The picture of `make sweep`: gnuplot -e "csv='IN'; svg='OUT'" paper_grid.gp
set terminal svg size 1080,360 dynamic font "sans,11" background "white"
set output svg
set datafile separator ","
set datafile missing NaN   # lines go on across the rows of other sparsities
set key autotitle columnhead
set multiplot layout 1,3
set logscale x 2
set xtics (4, 8, 16, 32, 64, 128)
set xrange [3.5:150]
set xlabel "bank"
set grid lc rgb "#d0d7de"
set key bottom left
set yrange [0:*]
# columns by head: only the rows of one sparsity
at(s, v) = column("sparsity") == s ? v : NaN
set title "relative output error"
plot for [s in "0.5 0.75 0.875 0.9375"] csv using (column("bank")):(at(s, column("relative_error"))) \
  with linespoints pt 7 ps 0.6 title "s = ".s
unset key
set title "cycles of a 32x32 core, 32 tokens"
plot for [s in "0.5 0.75 0.875 0.9375"] csv using (column("bank")):(at(s, column("cycles"))) \
  with linespoints pt 7 ps 0.6 title "s = ".s
set title "area of a PE, osu018 [1000 µm²]"
plot csv using (column("bank")):(at(0.5, column("pe_area_um2")) / 1000) \
  with linespoints pt 7 ps 0.6 lc rgb "black" notitle
unset multiplot
