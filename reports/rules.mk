# reports/: generated; the committed ones are reference results.
## report (reports): regenerate one report: make report R=NAME, which is the same as make NAME
# Each NAME is a target, described where it is built; make report alone lists them.
REPORTS := accuracy area area-clock area-engines area-flow area-route area-chip-wires area-scaled area-wires dram-report energy energy-page formats fpga fuzz-report gpu-report joined papers papers-pictures results row sheet sweep \
           verdict verification
.PHONY: report
report:
	$(Q)case " $(REPORTS) " in *" $(or $(R),none) "*) $(MAKE) --no-print-directory $(R) ;; \
	  *) echo "make report R=NAME; NAME is one of: $(REPORTS)"; [ -z "$(R)" ] || exit 2 ;; esac

# The first library gets the longer list of reports/area/measure.sh.
LIBERTIES ?= $(if $(SQ_DATA),$(wildcard $(foreach l,nangate45 sg13g2 sky130hd asap7,$(SQ_DATA)/liberty/$(l)*.lib*)))

# area: regenerate reports/area by synthesis; LIBERTIES="FILE ..." names further libraries
.PHONY: area area-flow
area: $(BUILD)/sqsim
	$(Q)reports/area/measure.sh $< $(JOBS) $(BUILD)/area $(LIBERTIES)
	$(Q)awk -f reports/area/figures.awk $(BUILD)/area/*.txt > $(BUILD)/area/figures.md
	$(Q)cat $(BUILD)/area/osu018.table.txt $(BUILD)/area/figures.md
	$(Q)if [ -n "$(strip $(LIBERTIES))" ]; then reports/area/page.sh $(BUILD)/area/figures.md reports/area/README.md; else \
	  echo "area: skipped other libraries than osu018: none found, LIBERTIES=\"FILE ...\" names some;" \
	    "the page stays as it is"; fi

# The first line, which names command and revision, into each table: the page names those of `make area` alone.
head_in_tables = sed '1{h;d}; /^<!-- table/G'

# area-clock: the PEs at clock periods, where LIBERTIES has nangate45 or sg13g2
CLOCK := $(BUILD)/area/clock
.PHONY: area-clock
area-clock: $(BUILD)/sqsim
	$(Q)reports/area/clock.sh $< $(JOBS) $(CLOCK) $(LIBERTIES)
	$(Q)if [ -f $(CLOCK)/nangate45.period.txt ]; then \
	  awk -f reports/area/figures.awk $(CLOCK)/*.txt | $(head_in_tables) > $(CLOCK)/clock.md && \
	  $(GNUPLOT) -e "table='$(CLOCK)/nangate45.period.txt'; svg='reports/area/clock.svg'" reports/area/clock.gp && \
	  reports/area/page.sh $(CLOCK)/clock.md reports/area/README.md; else \
	  echo "area-clock: skipped: no nangate45 library, LIBERTIES=\"FILE ...\" names some; the page stays as it is"; fi

# area-scaled: PEs, lines and encoders of block-scaled formats beside plain integers, reports/area/scaled.csv
# What is in the cache is not made again: a run that was stopped goes on.
.PHONY: area-scaled
area-scaled: $(BUILD)/sqsim
	$(Q)if [ -n "$(strip $(LIBERTIES))" ]; then { printf '# make area-scaled%s; revision %s; %s\n' "$${UNITS:+ (some units)}" "$$(reports/revision.sh)" "$$($(YOSYS) -V)" && \
	  reports/area/scaled.sh $< $(JOBS) $(LIBERTIES); } > reports/area/scaled.csv.new && \
	  mv reports/area/scaled.csv.new reports/area/scaled.csv && \
	  { head -1 reports/area/scaled.csv | sed 's/^# \(.*\)/<!-- \1 -->/' && awk -f reports/area/scaled.awk reports/area/scaled.csv reports/accuracy/smollm2.csv; } > $(BUILD)/scaled.md && \
	  reports/area/page.sh $(BUILD)/scaled.md reports/area/README.md; \
	  else echo "area-scaled: skipped: no library, LIBERTIES=\"FILE ...\" names some; the table stays as it is"; fi

# area-engines: whole engines in LIBERTIES and osu018, reports/area/engines.csv and a table of the page; minutes an engine
# What the file holds is not measured again: remove it to begin anew.
.PHONY: area-engines
area-engines: $(BUILD)/sqsim
	$(Q)reports/area/engines.sh $< reports/area/engines.csv $(LIBERTIES) $(wildcard $(OSU018))
	$(Q)awk -f reports/area/engines.awk reports/area/engines.csv > $(BUILD)/engines.md
	$(Q)reports/area/page.sh $(BUILD)/engines.md reports/area/README.md

# area-chip: paths and clock of the chip in LIBERTIES with the memories of SRAM=DIR, a table of the page; minutes a library
.PHONY: area-chip
area-chip: $(BUILD)/sqsim
	$(Q)if [ -n "$(strip $(LIBERTIES))" ] && [ -n "$(SRAM)" ]; then \
	  { printf '<!-- make area-chip; revision %s; %s -->\n' "$$(reports/revision.sh)" "$$($(YOSYS) -V)" && \
	  reports/area/chip.sh $< $(SRAM) $(LIBERTIES); } | $(head_in_tables) > $(BUILD)/chip.md && \
	  reports/area/page.sh $(BUILD)/chip.md reports/area/README.md; \
	  else echo "area-chip: skipped: needs LIBERTIES=\"FILE ...\" and SRAM=DIR; the table stays as it is"; fi

# area-chip-wires: the chip of nvfp4 placed in SG13G2, a table and the picture of docs/wires.md; SRAM=DIR, LEF=DIR; 16 minutes
.PHONY: area-chip-wires
area-chip-wires: $(BUILD)/sqsim
	$(Q)if [ -n "$(filter %sg13g2_stdcell_typ_1p20V_25C.lib,$(LIBERTIES))" ] && [ -n "$(SRAM)" ] && [ -n "$(LEF)" ]; then \
	  { printf '<!-- make area-chip-wires; revision %s; %s -->\n' "$$(reports/revision.sh)" "$$($(YOSYS) -V)" && \
	  SVG=docs/pictures/chip.svg LEF=$(LEF) reports/area/chip.sh $< $(SRAM) $(filter %sg13g2_stdcell_typ_1p20V_25C.lib,$(LIBERTIES)); } | \
	  $(head_in_tables) > $(BUILD)/chip_wires.md && reports/area/page.sh $(BUILD)/chip_wires.md docs/wires.md; \
	  else echo "area-chip-wires: skipped: needs LIBERTIES with sg13g2, SRAM=DIR and LEF=DIR; the table stays as it is"; fi

# area-wires: PEs and gathers of LIBERTIES with and without placed wires, a table of docs/wires.md; LEF=DIR has their LEF files;
# PES="pe_int4x8 ..." and BANKS="8 16 ..." for some rows
.PHONY: area-wires
area-wires: $(BUILD)/sqsim
	$(Q)if [ -n "$(strip $(LIBERTIES))" ] && [ -n "$(LEF)" ]; then \
	  { printf '<!-- make area-wires%s; revision %s; %s -->\n' "$${PES+ PES=\"$$PES\"}$${BANKS+ BANKS=\"$$BANKS\"}" "$$(reports/revision.sh)" "$$($(YOSYS) -V)" && \
	  reports/area/wires.sh $< $(JOBS) $(LEF) $(LIBERTIES); } | $(head_in_tables) > $(BUILD)/wires.md && \
	  reports/area/page.sh $(BUILD)/wires.md docs/wires.md; \
	  else echo "area-wires: skipped: needs LIBERTIES=\"FILE ...\" and LEF=DIR; the table stays as it is"; fi

# area-route: wires of small blocks as estimated and as qrouter lays them, in OSU 0.18 um, a table of docs/wires.md; BLOCKS="meta24 ..."
.PHONY: area-route
BLOCKS ?= meta24 requant_int8 gqsa_walk
area-route: $(BUILD)/sqsim
	$(Q){ printf '<!-- make area-route; revision %s; %s -->\n' "$$(reports/revision.sh)" "$$($(YOSYS) -V)" && reports/area/route.sh $< $(BUILD)/route $(BLOCKS); } | \
	  $(head_in_tables) > $(BUILD)/route.md && reports/area/page.sh $(BUILD)/route.md docs/wires.md

# fpga: LUTs, flip-flops and MHz of blocks in a Lattice ECP5, placed and routed by nextpnr, a table of reports/area; DESIGNS="pe_nvfp4 array_int4x8:Rows=4,Cols=4"
.PHONY: fpga
DESIGNS ?= pe_int4x8 pe_int8x8 pe_sp24 pe_split_a_k2 pe_nvfp4 pe_nvfp4_fixed pe_nvint4 pe_mxfp4
fpga: $(BUILD)/sqsim
	$(Q){ printf '<!-- make fpga; revision %s; %s -->\n' "$$(reports/revision.sh)" "$$($(YOSYS) -V)" && SQSIM="$(abspath $<)" YOSYS="$(YOSYS)" reports/area/fpga.sh $(BUILD)/fpga $(DESIGNS); } | \
	  $(head_in_tables) > $(BUILD)/fpga.md && reports/area/page.sh $(BUILD)/fpga.md reports/area/README.md

# area-flow: regenerate reports/area/flow_osu018.txt: what each step of the synthesis script brings
area-flow: $(BUILD)/sqsim
	$(Q)reports/area/flow.sh $(BUILD)/sqsim $(JOBS) > reports/area/flow_osu018.txt.new
	$(Q)mv reports/area/flow_osu018.txt.new reports/area/flow_osu018.txt
	$(Q)cat reports/area/flow_osu018.txt

# energy: reports/energy in osu018 and LIBERTIES: PEs and banks on drawn operands, formats on a layer of SmolLM2, tokens
# What is measured by this revision, and what is in the cache of netlists, is not made again: a run that was stopped goes on.
.PHONY: energy
OSU018 := /usr/share/qflow/tech/osu018/osu018_stdcells.lib
ENERGY := reports/energy
BOARDS := $(if $(SQ_DATA),$(SQ_DATA)/gpu_measured/gpu_energy_per_mac.csv)
energy_of = $(BUILD)/energy/$$(reports/revision.sh)
energy_head = printf '\# make energy; revision %s; %s\n' "$$(reports/revision.sh)" "$$($(YOSYS) -V)"
energy: $(BUILD)/sqsim
	$(Q)reports/accuracy/model.sh smollm2 $(BUILD)/smollm2 $(SMOLLM2)
	$(Q)$(ENERGY)/measure.sh $< $(energy_of) $(BUILD)/smollm2/model.gguf $(LIBERTIES) $(wildcard $(OSU018))
	$(Q){ $(energy_head) && $(ENERGY)/rows.sh $(energy_of); } > $(ENERGY)/energy.csv.new
	$(Q){ $(energy_head) && $(ENERGY)/tokens.sh $< $(energy_of); } > $(ENERGY)/tokens.csv.new
	$(Q)for t in energy tokens; do mv $(ENERGY)/$$t.csv.new $(ENERGY)/$$t.csv || exit 1; done
	$(Q)$(MAKE) --no-print-directory energy-page

# energy-page: the picture and the page of reports/energy from its CSV files; all tables in build/energy/table.md
.PHONY: energy-page
energy-page:
	$(Q)mkdir -p $(BUILD)/energy && $(ENERGY)/tables.sh $(wildcard $(BOARDS)) > $(BUILD)/energy/table.md
	$(Q)$(GNUPLOT) -e "csv='$(ENERGY)/energy.csv'; svg='$(ENERGY)/energy.svg'" $(ENERGY)/energy.gp
	$(Q)reports/area/page.sh $(BUILD)/energy/table.md $(ENERGY)/README.md

# sweep: bank x sparsity of the embedded model into reports/sweep, a page into build/report
# build/sweep.db keeps what was computed before.
.PHONY: sweep
SWEEP   := reports/sweep/paper_grid
BROWSER := $(shell command -v chromium || command -v chromium-browser)
sweep: $(BUILD)/sqsim
	$(Q)mkdir -p reports/sweep
	$(Q)$< sweep sim/sweeps/paper_grid.yaml --db build/sweep.db --jobs $(JOBS) -o $(SWEEP).csv
	$(Q)$< report --db build/sweep.db --sweep paper_grid -o build/report > build/paper_grid.txt
	$(Q)$(GNUPLOT) -e "csv='$(SWEEP).csv'; svg='build/paper_grid.svg'" sim/sweeps/paper_grid.gp
	$(Q){ sed -n '1s/^# \(.*\)/<!-- \1 -->/p' build/paper_grid.txt; sed 1d build/paper_grid.svg; } > $(SWEEP).svg && reports/svg.sh $(SWEEP).svg
	$(Q)if [ -n "$(BROWSER)" ]; then \
	  $(BROWSER) --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1500 \
	    --screenshot=$(SWEEP).png "file://$(abspath build/report/index.html)#paper_grid" 2> /dev/null; \
	  else echo "sweep: skipped $(SWEEP).png: no Chromium"; fi
	$(Q)$< sweep sim/sweeps/act_banks.yaml --db build/sweep.db --jobs $(JOBS) -o build/act_banks.csv
	$(Q)$(GNUPLOT) -e "csv='build/act_banks.csv'; svg='reports/sweep/act_banks.svg'" sim/sweeps/act_banks.gp
	$(Q)echo "$(SWEEP).{csv,svg,png} build/paper_grid.txt build/report/index.html"

# dram-report: what a DRAM that keeps time costs against bandwidth and latency, reports/dram/timing.{csv,md}, and the picture of queues against bursts of the DMA
.PHONY: dram-report
DRAM_REPORT := reports/dram/timing
dram-report: $(BUILD)/sqsim
	$(Q){ printf '# make dram-report; revision %s\n' "$$(reports/revision.sh)" && $(DRAM_REPORT).sh $<; } > $(DRAM_REPORT).csv.new && \
	  mv $(DRAM_REPORT).csv.new $(DRAM_REPORT).csv
	$(Q){ head -1 $(DRAM_REPORT).csv | sed 's/^# \(.*\)/<!-- \1 -->/' && grep -v '^#' $(DRAM_REPORT).csv > $(BUILD)/dram_timing.csv && \
	  $(DRAM_REPORT).sh $< $(BUILD)/dram_timing.csv; } > $(DRAM_REPORT).md
	$(Q){ head -1 $(DRAM_REPORT).csv && $(DRAM_REPORT).sh $< queues; } > reports/dram/queues.csv
	$(Q)$(GNUPLOT) -e "csv='reports/dram/queues.csv'; svg='reports/dram/queues.svg'" reports/dram/queues.gp && reports/svg.sh reports/dram/queues.svg
	$(Q)echo $(DRAM_REPORT).{csv,md} reports/dram/queues.{csv,svg}

# papers: every item of the five papers with its command and a verdict, a page a paper, an hour; R=spqt: one of sq, gqsa, spqt, spqr, sp24, widths
# What this revision has printed already is not run again; after SECONDS, where they are said, no command begins.
.PHONY: papers
papers: $(BUILD)/sqsim
	$(Q)PAPERS_SECONDS=$(if $(filter file,$(origin SECONDS)),,$(SECONDS)) reports/papers/papers.py $< "$$(reports/revision.sh)" $(BUILD)/papers $(R)
	$(Q)$(MAKE) --no-print-directory papers-pictures

# papers-pictures: reports/papers/*.svg from what the pages say, without a run; their points in build/papers/points.csv
.PHONY: papers-pictures
papers-pictures:
	$(Q)mkdir -p $(BUILD)/papers && reports/papers/papers.py pictures reports/papers > $(BUILD)/papers/points.csv

include reports/accuracy/rules.mk
include reports/formats/rules.mk
include reports/gpu/rules.mk
include reports/verification/rules.mk
