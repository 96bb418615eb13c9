# tests/fuzz/: a harness fuzz_NAME.c per reader, in memory (fuzz.h). libFuzzer and AFL++ need Debian's
# clang and afl++; `make test` replays the corpus with what builds everything else.
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PARTS := $(filter-out tests/fuzz/replay.c tests/fuzz/alter.c tests/fuzz/fuzz_%,$(wildcard tests/fuzz/*.c))
FUZZ_CLI   := $(wildcard sim/cli/sq_cli*.c) # option parsing; the rest of the program is blackbox.t's
FUZZ_WRAP  := $(addprefix -Wl$(,)--wrap=,sq_file_map sq_file_unmap sq_file_forget sq_outfile_open \
              sq_outfile_commit sq_outfile_abort sq_file_protect sq_trace_compare stat access mkdir unlink \
              sqlite3_open_v2 sqlite3_close)

# ---- the corpus, under the compiler of the product ------------------------------------------------
FUZZ_REPLAY := $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz/%)
FUZZ_OBJ    := $(BUILD)/obj/tests/fuzz/replay.o $(FUZZ_PARTS:%.c=$(BUILD)/obj/%.o) $(FUZZ_CLI:%.c=$(BUILD)/obj/%.o) \
               $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard lib/*.c))
$(FUZZ_REPLAY): $(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o \
  $(FUZZ_OBJ) $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(QUICK_LD) $(FUZZ_WRAP) $^ $(LDLIBS) -o $@
$(BUILD)/tests/fuzz/alter: $(BUILD)/obj/tests/fuzz/alter.o
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $^ -o $@
-include $(wildcard $(BUILD)/obj/tests/fuzz/*.d)
FUZZ_TEST := $(wildcard tests/fuzz/*.t)
FUZZ_BIN  := $(FUZZ_REPLAY) $(BUILD)/tests/fuzz/alter

# ---- libFuzzer and AFL++ ---------------------------------------------------------------------------
CLANG    ?= clang
AFL_CC   ?= afl-clang-fast
SECONDS  ?= 60
TARGET   ?= $(FUZZ_NAMES)
FUZZ_DIR := build/fuzz
FUZZ_LIB := $(MODELS_SRC) $(SIM_LIB_SRC) $(wildcard lib/*.c) $(FUZZ_CLI) $(FUZZ_PARTS)
# Without OpenMP: one thread, and nothing of libomp's among the edges; of gcc's headers only omp.h.
FUZZ_OPT ?= -O2 -g
FUZZ_CFLAGS := -std=c11 -D_GNU_SOURCE -ffp-contract=off $(FUZZ_OPT) -fno-omit-frame-pointer \
  -Wno-unknown-pragmas -Wno-ignored-attributes -fsanitize=address,undefined -fno-sanitize-recover=undefined \
  -idirafter $(FUZZ_DIR)/include -I. -I$(BUILD) -MMD -MP -DSQ_REVISION='"fuzz"'
$(FUZZ_DIR)/include/omp.h:
	$(Q)mkdir -p $(@D)
	$(Q)ln -sf $$($(CC) -print-file-name=include/omp.h) $@
# What the code asks of OpenMP at run time (omp_get_max_threads).
FUZZ_OMP := $(shell $(CC) -print-file-name=libgomp.so)
# The loops of the models: what they compare says nothing about the input, and takes half the time.
FUZZ_LOOPS := -fno-sanitize-coverage=trace-cmp

# fuzz_build DIR COMPILER COMPILE_FLAGS LINK_FLAGS: all programs DIR/NAME.
define fuzz_build
$(1)/obj/%.o: %.c | $(FUZZ_DIR)/include/omp.h $(BLOCK_TABLES)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CCACHE) $(2) $$(FUZZ_CFLAGS) $(3) $$(if $$(filter models/% tests/fuzz/fuzz.c,$$<),$(FUZZ_LOOPS)) -c $$< -o $$@
$(1)/lib.a: $(patsubst %.c,$(1)/obj/%.o,$(FUZZ_LIB)) $(BUILD)/obj/sq_d3.o $(BUILD)/obj/sq_dram_devices.o
	$$(Q)rm -f $$@
	$$(Q)ar rcs $$@ $$^
$(FUZZ_NAMES:%=$(1)/%): $(1)/%: $(1)/obj/tests/fuzz/fuzz_%.o $(1)/lib.a
	$$(Q)$(2) $$(FUZZ_CFLAGS) $(4) $$(FUZZ_WRAP) $$^ $$(LDLIBS) $$(FUZZ_OMP) -o $$@
-include $(patsubst %.c,$(1)/obj/%.d,$(FUZZ_LIB)) $(FUZZ_NAMES:%=$(1)/obj/tests/fuzz/fuzz_%.d)
endef
$(eval $(call fuzz_build,$(FUZZ_DIR),$(CLANG),-fsanitize=fuzzer-no-link,-fsanitize=fuzzer))
$(eval $(call fuzz_build,$(FUZZ_DIR)-afl,$(AFL_CC),,-fsanitize=fuzzer))

## fuzz (verify): libFuzzer over every reader, SECONDS=n each (60), TARGET="NAME .." (all)
## fuzz-afl (verify): the same harnesses under AFL++
## fuzz-corpus (verify): what `make fuzz` found, minimised, into tests/fuzz/corpus
# fuzz-report: build/verification/fuzz.md from the logs of `make fuzz`
.PHONY: fuzz fuzz-build fuzz-afl fuzz-corpus fuzz-report
ifeq ($(shell command -v $(CLANG)),)
fuzz fuzz-build fuzz-corpus:
	@echo "$@: skipped: no $(CLANG)"
else
# Every target has its time, also behind one that found something.
fuzz: $(TARGET:%=$(FUZZ_DIR)/%)
	$(Q)found=; for t in $(TARGET); do tests/fuzz/fuzz.sh $(FUZZ_DIR) $$t $(SECONDS) || found="$$found $$t"; done; \
	  [ -z "$$found" ] || { echo "fuzz: findings of$$found in $(FUZZ_DIR)/found"; exit 1; }
fuzz-build: $(FUZZ_NAMES:%=$(FUZZ_DIR)/%)
fuzz-corpus: $(TARGET:%=$(FUZZ_DIR)/%)
	$(Q)for t in $(TARGET); do tests/fuzz/fuzz.sh $(FUZZ_DIR) $$t merge || exit 1; done
endif
ifeq ($(shell command -v $(AFL_CC)),)
fuzz-afl:
	@echo "$@: skipped: no $(AFL_CC)"
else
fuzz-afl: $(TARGET:%=$(FUZZ_DIR)-afl/%)
	$(Q)for t in $(TARGET); do tests/fuzz/fuzz.sh $(FUZZ_DIR)-afl $$t $(SECONDS) afl || exit 1; done
endif
fuzz-report:
	$(Q)mkdir -p $(VERIFICATION) && tests/fuzz/report.sh $(FUZZ_DIR) > $(VERIFICATION)/fuzz.md.new && mv $(VERIFICATION)/fuzz.md.new $(VERIFICATION)/fuzz.md || \
	  { rc=$$?; rm -f $(VERIFICATION)/fuzz.md.new; [ $$rc = 3 ] && exit 0; exit $$rc; }
