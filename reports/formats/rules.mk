# reports/formats: all systems on one sheet. STORIES is not shipped.
STORIES ?= $(SQ_DATA)/models/stories260K
FORMATS_DIR := reports/formats

# KL of the sheet's rows on a small model: $(call format_kl,NAME,MODEL_DIR)
SHEET_SEQUENCES ?= 16
SHEET_VARIANTS  := $(BUILD)/sheet_variants.txt
define format_kl
rm -f $(FORMATS_DIR)/kl-$(1).csv.new && \
$(BUILD)/kl_grid $(2) $(2)/tokens_eval.safetensors $(2)/tokens_calib.safetensors $(SHEET_SEQUENCES) \
  $(SHEET_VARIANTS) $(FORMATS_DIR)/kl-$(1).csv.new "$$(reports/revision.sh)" && \
mv $(FORMATS_DIR)/kl-$(1).csv.new $(FORMATS_DIR)/kl-$(1).csv
endef

$(SHEET_VARIANTS): $(FORMATS_DIR)/sheet.txt
	$(Q)mkdir -p $(@D)
	$(Q)awk -F' *[|] *' '!/^#/ && $$2 != "reference" {print $$1 " | " $$2 ($$3 ? " " $$3 : "")}' $< > $@

# formats: regenerate reports/formats: KL and bits on small models, and the sheet of all formats
.PHONY: formats
formats: $(BUILD)/kl_grid $(BUILD)/sqsim $(SHEET_VARIANTS)
	$(Q)$(call format_kl,tiny-llama,traces/tiny-llama)
	$(Q)if [ -d "$(STORIES)" ]; then $(call format_kl,stories260k,$(STORIES)); else echo "formats: skipped stories260K: no $(STORIES)"; fi
	$(Q)$(sheet)

# What was measured before (losses, areas) beside what the program says now (cycles, predictions of the GPU).
define sheet
head="$$(printf 'make sheet; revision %s' "$$(reports/revision.sh)")" && \
{ echo "# $$head" && $(FORMATS_DIR)/sheet.sh $(BUILD)/sqsim; } > $(FORMATS_DIR)/sheet.csv.new && \
mv $(FORMATS_DIR)/sheet.csv.new $(FORMATS_DIR)/sheet.csv && \
{ echo "<!-- $$head -->" && cat $(FORMATS_DIR)/sheet_head.md && awk -f $(FORMATS_DIR)/sheet.awk $(FORMATS_DIR)/sheet.csv; } \
  > $(FORMATS_DIR)/sheet.md.new && mv $(FORMATS_DIR)/sheet.md.new $(FORMATS_DIR)/sheet.md && \
$(BUILD)/sqsim run --explain table10 --json | awk -f $(FORMATS_DIR)/paper.awk $(FORMATS_DIR)/paper.csv - > $(BUILD)/paper_points.csv && \
$(GNUPLOT) -e "csv='$(FORMATS_DIR)/sheet.csv'; paper='$(BUILD)/paper_points.csv'; svg='$(FORMATS_DIR)/pareto.svg'" $(FORMATS_DIR)/pareto.gp && \
$(GNUPLOT) -e "csv='$(ACCURACY)/smollm2.csv'; svg='$(FORMATS_DIR)/banks.svg'" $(FORMATS_DIR)/banks.gp && cat $(FORMATS_DIR)/sheet.md
endef

# sheet: the sheet of all formats and its pictures from what reports/ holds; needs no model
.PHONY: sheet
sheet: $(BUILD)/sqsim
	$(Q)$(sheet)

# row: README.md's first table: formats on one machine of equal silicon, at clocks of two libraries; netlists that the memo has are not
# made again. Needs sg13g2 with its memories, nangate45 (LIBERTIES, SRAM), SmolLM2; ENERGY=FILE: joules a MAC measured before
ROW_LIBERTIES = $(foreach at,12ns 8ns,$(addsuffix @$(at),$(filter %sg13g2_stdcell_typ_1p20V_25C.lib,$(LIBERTIES)))) \
  $(addsuffix @3ns,$(filter %nangate45_typ.lib.gz,$(LIBERTIES)))
.PHONY: row
row: $(BUILD)/sqsim
	$(Q)[ "$(words $(ROW_LIBERTIES))" = 3 ] && { [ -n "$(ENERGY)" ] || [ -f $(SMOLLM2_DIR)/model.gguf ]; } || { echo "row: needs SQ_DATA and make smollm2" >&2; exit 3; }
	$(Q){ echo "# make row; revision $$(reports/revision.sh)" && ENERGY="$(ENERGY)" $(FORMATS_DIR)/row.sh $(BUILD)/sqsim $(BUILD)/row $(SMOLLM2_DIR)/model.gguf \
	  "$(SQ_DATA)/liberty/sram_sg13g2" $(ROW_LIBERTIES); } > $(FORMATS_DIR)/row.csv.new
	$(Q)mv $(FORMATS_DIR)/row.csv.new $(FORMATS_DIR)/row.csv && { [ -n "$(ENERGY)" ] || cp $(BUILD)/row/energy.jsonl $(FORMATS_DIR)/row_energy.jsonl; }
	$(Q)$(MAKE) --no-print-directory results

# results: the first table of README.md and that of reports/formats by clock, from what reports/ holds
.PHONY: results
results:
	$(Q)mkdir -p $(BUILD) && $(FORMATS_DIR)/sheet.sh results > $(BUILD)/results.md
	$(Q)for page in README.md $(FORMATS_DIR)/README.md; do reports/area/page.sh $(BUILD)/results.md $$page; done

# What is measured already is not measured again: a run that was stopped goes on. SEQ: sequences of SmolLM2, at most 32; for
# another number remove verdict_smollm2.csv. Areas of reports/area (make area-scaled), and what it lacks, where LIBERTIES has a library.
# verdict: KL, um2 and cycles of the same things by reports/formats/RULE.md, into verdict.md and verdict.svg; SEQ=32;
# FORMATS="nvfp4 hif4 my.yaml": a table of these alone, descriptions too, on the screen; MODEL=DIR, the embedded one
SEQ := 32
VERDICT := $(FORMATS_DIR)/verdict
VERDICT_LIBRARIES = $(filter %nangate45_typ.lib.gz %sg13g2_stdcell_typ_1p20V_25C.lib,$(LIBERTIES)) osu018
.PHONY: verdict verdict-page
ifneq ($(FORMATS),)
verdict: $(BUILD)/sqsim
	$(Q)$(FORMATS_DIR)/rank.sh $(BUILD)/sqsim "$(or $(MODEL),traces/tiny-llama)" $(SEQ) $(FORMATS)
else
verdict: smollm2 gemma3 $(BUILD)/kl_grid $(BUILD)/sqsim
	$(Q)$(BUILD)/kl_grid traces/tiny-llama traces/tiny-llama/tokens_eval.safetensors traces/tiny-llama/tokens_calib.safetensors 64 \
	  $(VERDICT)_kl.txt $(VERDICT)_tiny.csv "$$(reports/revision.sh)"
	$(Q)$(VERDICT).sh areas $(BUILD)/sqsim $(VERDICT)_area.csv $(VERDICT_LIBRARIES)
	$(Q)$(VERDICT).sh clocks $(BUILD)/sqsim $(VERDICT)_clock.csv $(VERDICT_LIBRARIES)
	$(Q)$(VERDICT).sh cycles $(BUILD)/sqsim > $(BUILD)/verdict_cycles.md
	$(Q)if [ -f $(SMOLLM2_DIR)/model.gguf ]; then \
	  $(BUILD)/kl_grid $(SMOLLM2_DIR)/model.gguf $(SMOLLM2_DIR)/tokens_eval_32.safetensors $(SMOLLM2_DIR)/tokens_calib.safetensors $(SEQ) \
	  $(VERDICT)_kl.txt $(VERDICT)_smollm2.csv "$$(reports/revision.sh)"; fi
	$(Q)awk -F' *[|] *' 'NR == FNR {if (!/^#/) wanted[$$2]; next} $$2 in wanted' $(VERDICT).txt $(VERDICT)_kl.txt > $(BUILD)/verdict_gemma3.txt
	$(Q)if [ -f $(GEMMA3_DIR)/model.gguf ]; then $(call kl,$(GEMMA3_DIR)/model.gguf,$(GEMMA3_DIR),8,$(BUILD)/verdict_gemma3,$(VERDICT)_gemma3.csv); fi
	$(Q)$(MAKE) --no-print-directory verdict-page CYCLES=$(BUILD)/verdict_cycles.md
endif

# The page and its picture from what is measured.
verdict-page:
	$(Q){ printf '<!-- make verdict; revision %s -->\n' "$$(reports/revision.sh)" && $(VERDICT)_page.sh $(CYCLES); } > $(VERDICT).md.new
	$(Q)mv $(VERDICT).md.new $(VERDICT).md
	$(Q)for l in nangate45 sg13g2 osu018; do awk -v library=$$l -v points=16 -f $(VERDICT).awk reports/area/scaled.csv \
	  $(VERDICT)_area.csv $(VERDICT).txt $(VERDICT)_smollm2.csv $(VERDICT)_tiny.csv > $(BUILD)/verdict_$$l.csv || exit 1; done
	$(Q)$(GNUPLOT) -e "folder='$(BUILD)'; svg='$(VERDICT).svg'" $(VERDICT).gp
	$(Q)cat $(VERDICT).md
