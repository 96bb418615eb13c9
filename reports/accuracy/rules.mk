# reports/accuracy: the grid of formats on models. Two to six minutes a model on two idle cores.
ACCURACY := reports/accuracy

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

# $(call kl,MODEL,TOKENS,SEQUENCES,LISTS,CSV): what CSV lacks of the variants LISTS.txt, over TOKENS/tokens_eval,
# 32 sequences over TOKENS/tokens_eval_32.
kl = $(BUILD)/kl_grid $(1) $(2)/tokens_eval$(if $(filter 32,$(3)),_32).safetensors $(2)/tokens_calib.safetensors $(3) $(4).txt $(5) \
  "$$(reports/revision.sh)"
# $(call kl_page,NAME,LISTS,COMMAND,N): the page of its verdicts on the claims of LISTS_verdicts.txt, and N tables; build/NAME.md has all of them.
kl_page = $(BUILD)/kl_table $(2).txt $(ACCURACY)/$(1).csv $(2)_verdicts.txt "$(3)" > $(BUILD)/$(1).md && \
  awk '/^\#\# / && ++n > 1 + $(4) {exit} 1' $(BUILD)/$(1).md > $(ACCURACY)/$(1).md.new && mv $(ACCURACY)/$(1).md.new $(ACCURACY)/$(1).md

# Rows that reports/accuracy/smollm2.csv holds are not measured again: remove it to begin anew.
SMOLLM2_LISTS := $(ACCURACY)/smollm2
.PHONY: accuracy-smollm2
accuracy-smollm2: smollm2 $(BUILD)/kl_grid $(BUILD)/kl_table
	$(Q)if [ -f $(SMOLLM2_DIR)/model.gguf ]; then \
	  $(call kl,$(SMOLLM2_DIR)/model.gguf,$(SMOLLM2_DIR),$(SMOLLM2_SEQUENCES),$(SMOLLM2_LISTS),$(ACCURACY)/smollm2.csv); fi
	$(Q)$(call kl_page,smollm2,$(SMOLLM2_LISTS),make accuracy SUBJECT=smollm2,0)

# Claims of papers over 32 sequences, hours of a core; its page keeps the table that make row reads. Rows that smollm2_claims.csv holds are not measured again.
.PHONY: accuracy-claims
accuracy-claims: smollm2 $(BUILD)/kl_grid $(BUILD)/kl_table
	$(Q)if [ -f $(SMOLLM2_DIR)/model.gguf ]; then \
	  $(call kl,$(SMOLLM2_DIR)/model.gguf,$(SMOLLM2_DIR),32,$(ACCURACY)/smollm2_claims,$(ACCURACY)/smollm2_claims.csv); fi
	$(Q)$(call kl_page,smollm2_claims,$(ACCURACY)/smollm2_claims,make accuracy SUBJECT=claims,1)

# accuracy: regenerate reports/accuracy: tables of weights and of banks, and the claims on them, on the model that is trained here;
# SUBJECT=smollm2, SUBJECT=claims: that model, going on where it stopped
.PHONY: accuracy
TINY_KL := $(BUILD)/tiny-llama-kl
ifneq ($(filter smollm2 claims,$(SUBJECT)),)
accuracy: accuracy-$(SUBJECT)
else
accuracy: $(BUILD)/kl_grid $(BUILD)/kl_table
	$(Q)awk '/^## /{on = /^## (Weights|More)/} on; /^## More/ {print "NVFP4 | nvfp4 operand=act"} \
	  /^## Weights and/ {print "W(E4M3, E2M1)A(E4M3), 4 of 32 | sq_w variant=fp sparsity=0.875"}' $(SMOLLM2_LISTS).txt > $(TINY_KL).txt
	$(Q)grep '^W[4(e]' $(SMOLLM2_LISTS)_verdicts.txt > $(TINY_KL)_verdicts.txt
	$(Q)rm -f $(TINY_KL).csv
	$(Q)$(call kl,traces/tiny-llama,traces/tiny-llama,64,$(TINY_KL),$(TINY_KL).csv)
	$(Q)cp $(TINY_KL).csv $(ACCURACY)/tiny-llama-kl.csv
	$(Q)$(call kl_page,tiny-llama-kl,$(TINY_KL),make accuracy,0)
endif
