# reports/formats: all systems on one sheet. STORIES and PROFILE as for reports/accuracy.
FORMATS := reports/formats

$(BUILD)/format_sheet: $(FORMATS)/format_sheet.c $(ACCURACY)/subject.c $(BUILD)/libsqsim.a \
                       $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I$(ACCURACY) $^ $(LDLIBS) -o $@

# $(call format_accuracy,NAME,ARGUMENTS)
define format_accuracy
{ printf '# make formats: format_sheet on %s; revision %s; %s\n' "$(1)" \
    "$$(reports/revision.sh)" "$$($(CC) --version | head -1)" && \
  $(BUILD)/format_sheet $(2); } > $(FORMATS)/$(1).csv.new && \
mv $(FORMATS)/$(1).csv.new $(FORMATS)/$(1).csv
endef

## formats: regenerate reports/formats: accuracy, bits, cycles, balance and decoder area of every system
.PHONY: formats
formats: $(BUILD)/format_sheet $(BUILD)/sqsim
	$(Q)$(call format_accuracy,tiny-llama,traces/tiny-llama)
	$(Q)if [ -d "$(STORIES)" ]; then $(call format_accuracy,stories260k,$(STORIES)); \
	  else echo "formats: skipped stories260K: no $(STORIES)"; fi
	$(Q)if [ -f "$(PROFILE)" ]; then $(call format_accuracy,opt-125m-profile,--profile $(PROFILE)); \
	  else echo "formats: skipped outlier profiles: no $(PROFILE)"; fi
	$(Q)$(FORMATS)/formats.sh $(BUILD)/sqsim > $(FORMATS)/tables.md.new
	$(Q)mv $(FORMATS)/tables.md.new $(FORMATS)/tables.md
	$(Q)cat $(FORMATS)/tables.md

# KL of reports/accuracy (make accuracy SUBJECT=smollm2) x um2 of reports/area (make area-scaled), by RULE.md.
## verdict: join KL, stored bits and um2 into reports/formats/verdict.md, a section for each library of scaled.csv
.PHONY: verdict
verdict:
	$(Q){ printf '<!-- make verdict; revision %s; %s -->\n# The verdict\n\nBy the rule of [RULE.md](RULE.md).\n' "$$(reports/revision.sh)" \
	    "$$(head -1 reports/area/scaled.csv | sed 's/^# //')" && \
	  for library in $$(sed 1d reports/area/scaled.csv | cut -d, -f2 | uniq); do printf '\n## %s\n' "$$library" && \
	    awk -v library="$$library" -f $(FORMATS)/verdict.awk reports/area/scaled.csv $(FORMATS)/verdict.txt \
	      $(wildcard $(ACCURACY)/smollm2.csv) || exit 1; done; } > $(FORMATS)/verdict.md.new
	$(Q)mv $(FORMATS)/verdict.md.new $(FORMATS)/verdict.md
	$(Q)cat $(FORMATS)/verdict.md
