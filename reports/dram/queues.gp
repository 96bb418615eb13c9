# SPDX-License-Identifier: Apache-2.0
# Clocks of the data bus in which rows were opened or closed, over the depth of a bank's queue, a line for each number of bursts that
# the DMA has under way: gnuplot -e "csv='queues.csv'; svg='queues.svg'" queues.gp
set terminal svg size 900,360 font 'sans,12' background '#ffffff'
set output svg
set datafile separator ','
set datafile commentschars '#'
set multiplot layout 1,2
set logscale x 2
set xtics (1, 2, 4, 8, 16)
set xlabel "bursts that a bank's queue holds"
set ylabel 'bus lost to rows, %'
set yrange [0:*]
set xrange [.9:18]
set key outside bottom center horizontal title 'bursts of the DMA'
do for [device in 'ddr4-2400 lpddr5-6400'] {
  set title device
  plot for [n in '2 4 8 16'] csv using (strcol(1) eq device && strcol(2) eq n ? $3 : NaN):(100 * $5) skip 1 with linespoints lw 2 pt 7 ps .6 title n
}
unset multiplot
