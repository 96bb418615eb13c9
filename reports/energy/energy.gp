# SPDX-License-Identifier: Apache-2.0
# gnuplot -e "csv='reports/energy/energy.csv'; svg='FILE'" energy.gp: fJ a MAC inside of each PE on drawn operands, from zero
# delay to delays of the library.
set terminal svg size 900,560 font "sans-serif,13" background "white"
set output svg
set datafile separator ","
set title "Energy of a MAC inside of a PE, smallest netlist, no wires: zero delay (low) to with delays (high)"
set ylabel "fJ a MAC"
set logscale y
set yrange [100:10000]
set grid y
set bmargin 8
set key outside right
rows = "awk -F, '$1 == \"%s\" && $2 == \"pes\" && $6 == \"\" {if ($9 == \"zero_delay\") low = $11; else print $3 \",\" low \",\" $11}' " . csv
names = system("awk -F, '!/^#/ && $2 == \"pes\" && $6 == \"\" && !($1 in had) {had[$1]; print $1}' " . csv)
pes = system("awk -F, '!/^#/ && $2 == \"pes\" && $6 == \"\" && !($3 in had) {had[$3]; print $3}' " . csv)
n = words(names)
set xrange [.4:words(pes) + .6]
set xtics rotate by -35 noenhanced nomirror
set xtics ()
do for [i = 1:words(pes)] { set xtics add (word(pes, i) i) }
where(pe) = sum [i = 1:words(pes)] (word(pes, i) eq pe ? i : 0)
plot for [i = 1:n] "< " . sprintf(rows, word(names, i)) using (where(strcol(1)) + .2 * (i - (n + 1) / 2.)):2:2:3 \
  with yerrorbars lw 3 pt 7 ps .4 title word(names, i)
