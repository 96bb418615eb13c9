# reports/formats: all systems on one sheet. STORIES and PROFILE as for reports/accuracy.
FORMATS := reports/formats

$(BUILD)/format_sheet: $(FORMATS)/format_sheet.c $(ACCURACY)/subject.c $(BUILD)/libsqsim.a \
                       $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I$(ACCURACY) $^ $(LDLIBS) -o $@

# $(call format_accuracy,NAME,ARGUMENTS)
define format_accuracy
{ printf '# make formats: format_sheet on %s; revision %s; %s\n' "$(1)" \
    "$$(git describe --always --dirty 2>/dev/null || echo unknown)" "$$($(CC) --version | head -1)" && \
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
