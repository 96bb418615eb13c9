# reports/accuracy: the grid of formats on models and outlier-profile inputs. Two to six minutes a
# model on two idle cores; STORIES and PROFILE are not shipped.
ACCURACY := reports/accuracy
STORIES  ?= $(SQ_DATA)/models/stories260K
PROFILE  ?= $(SQ_DATA)/act_scales/opt-125m.act_scales.safetensors

$(BUILD)/accuracy_grid: $(ACCURACY)/accuracy_grid.c $(ACCURACY)/subject.c $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDLIBS) -o $@

# $(call accuracy,NAME,ARGUMENTS,AXIS): CSV, tables and plot of one subject.
define accuracy
{ printf '# make accuracy: accuracy_grid on %s; revision %s; %s\n' "$(1)" \
    "$$(reports/revision.sh)" "$$($(CC) --version | head -1)" && \
  $(BUILD)/accuracy_grid $(2); } > $(ACCURACY)/$(1).csv.new && \
mv $(ACCURACY)/$(1).csv.new $(ACCURACY)/$(1).csv && \
{ sed -n '1s/^# \(.*\)/<!-- \1 -->/p' $(ACCURACY)/$(1).csv && \
  awk -F, -f $(ACCURACY)/tables.awk $(ACCURACY)/$(1).csv; } > $(ACCURACY)/$(1).md && \
$(GNUPLOT) -e "csv='$(ACCURACY)/$(1).csv'; svg='$(ACCURACY)/$(1).svg'; what='$(3)'" \
  $(ACCURACY)/plot.gp
endef

$(BUILD)/kl_grid $(BUILD)/kl_table: $(BUILD)/%: $(ACCURACY)/%.c $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDLIBS) -o $@

## smollm2 (reports): fetch SmolLM2-135M into build/smollm2 and evaluate it as it is; SMOLLM2=FILE: a copy
# Exit 3 of the script says that it could not: a line, and no failure.
SMOLLM2_DIR       := $(BUILD)/smollm2
SMOLLM2_SEQUENCES ?= 4
.PHONY: smollm2
smollm2: $(BUILD)/sqsim
	$(Q)$(ACCURACY)/model.sh smollm2 $(SMOLLM2_DIR) $(SMOLLM2) || [ $$? = 3 ]
	$(Q)if [ -f $(SMOLLM2_DIR)/model.gguf ]; then \
	  $(BUILD)/sqsim eval $(SMOLLM2_DIR)/model.gguf --format dense --weight-bits 16 --act-bits 16; fi

## gemma3 (reports): fetch Gemma-3-270M into build/gemma3; GEMMA3=FILE: a copy
GEMMA3_DIR := $(BUILD)/gemma3
.PHONY: gemma3
gemma3:
	$(Q)$(ACCURACY)/model.sh gemma3 $(GEMMA3_DIR) $(GEMMA3) || [ $$? = 3 ]

# $(call kl,MODEL,TOKENS,SEQUENCES,LISTS,CSV): what CSV lacks of the variants LISTS.txt.
kl = $(BUILD)/kl_grid $(1) $(2)/tokens_eval.safetensors $(2)/tokens_calib.safetensors $(3) $(4).txt $(5) \
  "$$(reports/revision.sh)"
# $(call kl_page,NAME,LISTS,COMMAND): its tables, and verdicts on the claims of LISTS_verdicts.txt.
kl_page = $(BUILD)/kl_table $(2).txt $(ACCURACY)/$(1).csv $(2)_verdicts.txt "$(3)" > $(ACCURACY)/$(1).md.new && \
  mv $(ACCURACY)/$(1).md.new $(ACCURACY)/$(1).md

# Rows that reports/accuracy/smollm2.csv holds are not measured again: remove it to begin anew.
SMOLLM2_LISTS := $(ACCURACY)/smollm2
.PHONY: accuracy-smollm2
accuracy-smollm2: smollm2 $(BUILD)/kl_grid $(BUILD)/kl_table
	$(Q)if [ -f $(SMOLLM2_DIR)/model.gguf ]; then \
	  $(call kl,$(SMOLLM2_DIR)/model.gguf,$(SMOLLM2_DIR),$(SMOLLM2_SEQUENCES),$(SMOLLM2_LISTS),$(ACCURACY)/smollm2.csv); fi
	$(Q)$(call kl_page,smollm2,$(SMOLLM2_LISTS),make accuracy SUBJECT=smollm2)

# The tables of weights, and the claims on them, on the model that is trained here.
TINY_KL := $(BUILD)/tiny-llama-kl
.PHONY: accuracy-tiny
accuracy-tiny: $(BUILD)/kl_grid $(BUILD)/kl_table
	$(Q)awk '/^## /{on = /^## Weights/} on' $(SMOLLM2_LISTS).txt > $(TINY_KL).txt
	$(Q)grep '^W[4(e]' $(SMOLLM2_LISTS)_verdicts.txt > $(TINY_KL)_verdicts.txt
	$(Q)rm -f $(TINY_KL).csv
	$(Q)$(call kl,traces/tiny-llama,traces/tiny-llama,64,$(TINY_KL),$(TINY_KL).csv)
	$(Q)cp $(TINY_KL).csv $(ACCURACY)/tiny-llama-kl.csv
	$(Q)$(call kl_page,tiny-llama-kl,$(TINY_KL),make accuracy)

# accuracy: regenerate reports/accuracy; SUBJECT=smollm2: that model, going on where it stopped
.PHONY: accuracy
ifeq ($(SUBJECT),smollm2)
accuracy: accuracy-smollm2
else
accuracy: $(BUILD)/accuracy_grid accuracy-tiny
	$(Q)$(call accuracy,tiny-llama,traces/tiny-llama 8,nats per token)
	$(Q)if [ -d "$(STORIES)" ]; then $(call accuracy,stories260k,$(STORIES),nats per token); \
	  else echo "accuracy: skipped stories260K: no $(STORIES)"; fi
	$(Q)if [ -f "$(PROFILE)" ]; then $(call accuracy,opt-125m-profile,--profile $(PROFILE),relative output error); \
	  else echo "accuracy: skipped outlier profiles: no $(PROFILE)"; fi
endif
