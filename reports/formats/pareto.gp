# SPDX-License-Identifier: Apache-2.0
# KL against bits and speed, and the paper's Figures 4 and 5: gnuplot -e "csv='sheet.csv'; paper='FILE'; svg='OUT'" pareto.gp
set terminal svg size 1200,960 dynamic font "sans,11" background "white"
set output svg
set datafile separator ","
set datafile missing ""
set grid lc rgb "#d0d7de"
set key top right
# A family is what the names of its rows match; columns 17, 18, 21 to 24 are bits, KL and cycles (sheet.sh).
names = "integers 'SQ static' 'SQ dynamic' 'SQ weights' 'SQ blocks' MX NV 'decode formats'"
patterns = "^W[0-9]+A ^SQ.static ^SQ.dynamic ^SQ.weights ^SQ.(blocks|split) ^MX ^NV ^(2:4|GQSA|SpQt|SpQR)"
measured(i) = sprintf("< awk -F, '!/^#/ && $1 ~ /%s/ && $21 + 0 > 0' %s", word(patterns, i), csv)
# Points that no other one beats in both: x best first.
front(x, order) = sprintf("< awk -F, '!/^#/ && $21 + 0 > 0 {print %s \",\" $21}' %s | sort -t, -k1,1%s | " \
  ."awk -F, 'NR == 1 || $2 < best {print; best = $2}'", x, csv, order)
base = real(system(sprintf("awk -F, '$1 == \"W4A8\" {print $24}' %s", csv)))
set encoding utf8
set multiplot layout 2,2
set logscale y
set format y "%g"
set ylabel "KL on SmolLM2, nats a token"
set title "KL against stored bits, of a weight and of an activation"
set xlabel "bits of a weight + bits of an activation"
set xrange [8:26]
plot front("$17 + $18", "g") using 1:2 with steps lc "gray" dt 2 title "no other is better", \
     for [i = 1:8] measured(i) using ($17 + $18):21:22:23 with yerrorbars pt 6 + i ps 0.6 lc i title word(names, i), \
     for [i = 1:8] measured(i) using ($17 + $18):21:1 with labels left offset 0.6,0.2 font ",8" notitle
set title "KL against speed in prefill, accelerator (the paper's Figure 5)"
set xlabel "times as fast as W4A8, Llama-3-8B, 2048 tokens, machine server64"
set logscale x
set xrange [0.08:2.6]
unset key
plot front(sprintf("%g / $24", base), "gr") using 1:2 with fsteps lc "gray" dt 2 notitle, \
     for [i = 1:8] measured(i) using (base / $24):21:22:23 with yerrorbars pt 6 + i ps 0.6 lc i title word(names, i), \
     for [i = 1:8] measured(i) using (base / $24):21:1 with labels left offset 0.6,0.2 font ",8" notitle
unset logscale xy
set key top left
set title "the paper's own Figure 5 (its Tables 1, 10 and 7.1, static masks, banks of 32)"
set xlabel "times as fast as W4A8 (GPU, end to end)"
set ylabel "perplexity of Wikitext, ln of its ratio to BF16"
set xrange [0.9:2.2]
set yrange [0:*]
of(model) = sprintf("< awk -F, '$1 == \"%s\"' %s", model, paper)
plot for [m in "Llama-3-8B Llama-3-70B"] of(m) using 3:4 with linespoints pt 7 ps 0.6 title m, \
     for [m in "Llama-3-8B Llama-3-70B"] of(m) using 3:4:2 with labels left offset 0.6,0.3 font ",8" notitle
set title "speed against sparsity (the paper's Figure 4)"
set xlabel "sparsity"
set ylabel "times as fast as W4A8 in prefill"
set xrange [0.45:0.92]
set yrange [0:2.4]
set key bottom right
of(kind) = sprintf("< awk -F, '$1 ~ /^SQ %s s=/ {sub(/.*s=/, \"\", $1); print $1 \",\" %g / $24}' %s", kind, base, csv)
line(f) = real(system(sprintf("awk -F, '$1 == \"%s\" {print %g / $24}' %s", f, base, csv)))
speed(model) = sprintf("< awk -F, '$1 == \"%s\" && $2 ~ /static/ {print ($2 ~ /SQ6/ ? 0.5 : 0.75) \",\" $3}' %s", model, paper)
plot for [k in "static dynamic"] of(k) using 1:2 with linespoints pt 7 ps 0.6 title "accelerator, ".k." masks", \
     line("W4A4") with lines dt 2 title "accelerator, W4A4", line("W8A8") with lines dt 3 title "accelerator, W8A8", \
     for [m in "Llama-3-8B Llama-3-70B"] speed(m) using 1:2 with linespoints pt 5 ps 0.6 title "paper, GPU, ".m
unset multiplot
