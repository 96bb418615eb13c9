# SPDX-License-Identifier: Apache-2.0
# gnuplot -e "table='build/area/nangate45.period.txt'; svg='FILE'" clock.gp: area of the PEs against
# the clock period, of those that meet it.
set terminal svg size 800,500 font "sans-serif,13" background "white"
set output svg
set xlabel "clock period, ns"
set ylabel "area of a PE of 16 weights a cycle, um2"
set title "Area at equal clock, Nangate45, before layout"
set key outside right
set grid
set yrange [0:*]
blocks = "int4x6 int4x8 int6x6 int6x8 sentinel split_w split_a split_a_k2"
plot for [b in blocks] sprintf("< awk '$3 == \"pe_%s\" && $2 == \"yes\" {print $1, $4}' %s", b, table) \
  with linespoints lw 2 title b noenhanced
