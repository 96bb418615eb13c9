# SPDX-License-Identifier: Apache-2.0
# KL of SmolLM2 against um2 a product, a panel a library: gnuplot -e "folder='DIR'; svg='OUT'" verdict.gp; DIR has verdict_LIBRARY.csv,
# of verdict.awk with points. Bars are 95 % intervals; the line is the front of those whose area is no lower bound.
set terminal svg size 1500,520 font 'sans,11' background "white"
set output svg
set datafile separator '|'
set logscale y
set format y '%g'
set ylabel 'KL, nats a token'
set xlabel 'um2 a product, 16 rows; > : at least'
set grid
set offsets graph 0.08, graph 0.45, graph 0.1, graph 0.1
set yrange [0.02:1.2]
unset key
front(file) = "< sort -t'|' -k2,2n ".file." | awk -F'|' '$1 !~ /^>/ && (least == \"\" || $3 + 0 < least) {least = $3 + 0; print}'"
set multiplot layout 1,3
do for [library in 'nangate45 sg13g2 osu018'] {
  file = folder.'/verdict_'.library.'.csv'
  if (system("[ -s ".file." ] && echo 1") eq '1') {
    set title library
    plot front(file) using 2:3 with steps lc rgb '#999999', file using 2:3:4:5 with yerrorbars pt 7 ps 0.6 lc rgb '#1f4e9c', \
      file using 2:3:1 with labels left offset 0.7,0.4 font ',8'
  }
}
unset multiplot
