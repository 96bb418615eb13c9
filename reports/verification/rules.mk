# SPDX-License-Identifier: Apache-2.0
# Each page is written by its own campaign alone, into build/verification; that of mutants also with open ones.
VERIFICATION := $(BUILD)/verification
verification_page = mkdir -p $(VERIFICATION) && reports/verification/tables.sh $(BUILD)/sqsim $(1) $(2) >$(VERIFICATION)/$(1).md.new && \
  mv $(VERIFICATION)/$(1).md.new $(VERIFICATION)/$(1).md

MUTANT_SEEDS ?= 1,2,3
# verification: coverage, mutants, cosim-all, and a page of each in build/verification; -coverage, -mutants, -cosim: one alone
.PHONY: verification verification-coverage verification-mutants verification-cosim
verification: verification-coverage verification-mutants verification-cosim
verification-coverage: coverage
	$(Q)$(call verification_page,coverage,build/coverage)
verification-mutants: $(BUILD)/sqsim
	$(Q)rm -f build/mutants.open
	$(Q)$(MAKE) --no-print-directory mutants SEED=$(MUTANT_SEEDS) || echo $$? >build/mutants.open
	$(Q)$(call verification_page,mutants,build/mutants)
	$(Q)[ ! -e build/mutants.open ]
verification-cosim: $(BUILD)/sqsim
	$(Q)$(BUILD)/sqsim cosim --block all --cases $(ALL_CASES) --seed $(SEED) --jobs $(JOBS) --json \
	  >build/cosim-all.jsonl
	$(Q)$(call verification_page,cosim,build/cosim-all.jsonl)
