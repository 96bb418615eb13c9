# tests/: cmocka programs tests/<layer>/test_*.c, C++ drivers tests/rtl/tb_*.cpp and shell tests
# tests/<layer>/*.t; all speak TAP and are run by prove.
UNIT_SRC := $(wildcard tests/unit/*/test_*.c tests/sim/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/%.c=$(BUILD)/tests/%)
CLI_TEST := $(foreach d,cli docs package llm analyze mutate,$(wildcard tests/$(d)/*.t))
RTL_TEST := $(wildcard tests/rtl/*.t tests/formal/*.t)
# Not in test: five minutes for the measuring program on a device that is not there, faults in kernels, new seeds,
# what cppcheck says of all sources.
LONG_TEST := tests/gpu/measure.t tests/gpu/mutants.t tests/rtl/daily.t tests/analyze/analyze.t
# What has a part that test leaves to test-daily (tests/cli/lib.sh, fixture_cases), and that.
DAILY_TEST = $(LONG_TEST) $(patsubst tests/%.c,$(BUILD)/tests/%,$(shell grep -l fixture_cases tests/*/test_*.c)) $(filter-out $(LONG_TEST),$(shell grep -lE "(^ *((el)?if )?|[|&] )(daily|todays|tried|mutate) |SQ_TIER" tests/*/*.t))
# prove takes tests in this order: those that last longest, then all others, so that none of them is alone at the end.
FIRST_TEST := $(addprefix tests/,rtl/top.t rtl/bs.t llm/pass.t rtl/layers.t cli/area.t llm/generate.t gpu/trace.t rtl/units.t formal/formal.t docs/docs.t docs/tutorial.t rtl/chip_counters.t rtl/outputs.t rtl/engines.t rtl/cosim.t llm/eval.t cli/sweep.t cli/sweep_values.t)
longest_first = $(filter $(1),$(FIRST_TEST)) $(filter-out $(FIRST_TEST),$(1))
# test-daily runs each PARTS-th of its files, from number PART on.
PARTS ?= 1
PART  ?= 0
DAILY_PART = $(shell printf '%s\n' $(DAILY_TEST) | awk 'NR % $(PARTS) == $(PART)')
# In quick: the programs of tests but for those that build RTL, the commands' refusals, documents and structure.
QUICK_BIN  = $(filter-out $(addprefix $(BUILD)/tests/,sim/test_machine_rtl sim/test_vectors_rtl sim/test_eval_rtl),$(filter $(BUILD)/tests/unit/% $(BUILD)/tests/sim/%,$(UNIT_BIN)))
QUICK_TEST := tests/cli/main.t tests/docs/docs.t tests/docs/structure.t tests/cli/inspect.t
# Programs that shell tests run.
TEST_TOOLS := $(BUILD)/tests/rtl/pkg_check $(BUILD)/tests/rtl/table_check $(BUILD)/tests/cli/redigest $(BUILD)/tests/cli/element_codes $(BUILD)/tests/llm/gguf_dump $(BUILD)/tests/llm/token_dump $(BUILD)/kl_grid $(BUILD)/kl_table
# JOBS tests at a time, each on one thread unless it asks for more: on small matrices the threads of
# BLAS and OpenMP spend ten times the work waiting for one another.
PROVE    := SQSIM=$(abspath $(BUILD)/sqsim) SQ_SEED=$(SEED) SQ_DAILY=$(DAILY) OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
            OMP_WAIT_POLICY=passive prove --timer -j $(JOBS)
# proven TESTS: and at the end a count of what was skipped, by its reason, then prove's report of what failed (a program that
# ended without its last test has no "not ok"), then each test that failed; last, so that the end of a long output says it.
TAP := $(abspath $(BUILD)/tap)
define proven
	$(Q)rm -rf $(TAP); mkdir -p $(TAP); rc=0; PERL_TEST_HARNESS_DUMP_TAP=$(TAP) $(PROVE) $(call longest_first,$(1)) | tee $(TAP)/prove || rc=$$?; \
	  grep -rhoE '# (SKIP|skipped:) .*' $(TAP) | sed -E 's/^# [A-Za-z:]+ //' | sort | uniq -c | sort -rn | sed 's/^/skipped: /' || :; \
	  sed -n '/^Test Summary Report/,$$p' $(TAP)/prove; \
	  (cd $(TAP) && grep -rE --exclude=prove '^not ok' . | grep -vE '# (SKIP|TODO)') | sed 's/^\.\//failed: /' || :; exit $$rc
endef
include tests/fuzz/rules.mk tests/bench/rules.mk tests/analyze/rules.mk

# Each of 150 programs of tests is compiled and linked in half the time.
QUICK_LD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
QUICK_CC := -O1 -g1
# A program of tests may have a part in each room, tests/unit/ROOM/PROGRAM.h, and includes those that are there as SQ_PARTS.
$(BUILD)/tests/%.parts.h: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '' $(patsubst %,'#include "%"',$(wildcard tests/unit/*/$(notdir $*).h)) > $@.new
	$(Q)cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(BUILD)/tests/%: tests/%.c $(BUILD)/tests/%.parts.h $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(CFLAGS_ALL) $(QUICK_CC) -DSQ_PARTS='"$@.parts.h"' -MMD -MP -MT $@ -MF $@.d -c $< -o $@.o
	$(Q)$(CC) $(CFLAGS_ALL) $(QUICK_LD) $@.o $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a $(LDLIBS) -lcmocka -o $@
.PRECIOUS: $(BUILD)/tests/%.parts.h
-include $(UNIT_BIN:=.d)

# What it tests is of the program, not of the library.
CLI_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard sim/cli/sq_cli*.c))
$(BUILD)/tests/unit/io/test_cli_table: $(CLI_OBJ)
$(BUILD)/tests/unit/io/test_cli_table: LDLIBS := $(CLI_OBJ) $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a $(LDLIBS)

# ---- tiers: what each finds and how long it takes is in tests/README.md ---------------------------
## t (start): run one test: make t T=unit/gqsa/test_gqsa, T=cli/area.t, T="unit/core/test_gemm every_*"; R=gqsa: of a room
.PHONY: t for-cli for-docs for-package for-llm for-analyze for-mutate for-rtl for-formal for-fuzz for-gpu
t:
	$(Q)SQSIM=$(abspath $(BUILD)/sqsim) SQ_SEED=$(SEED) SQ_DAILY=$(DAILY) tests/one.sh $(BUILD) '$(T)'
# What a shell test of a folder needs before it runs (for-gpu: gpu/rules.mk).
for-cli for-docs for-package for-llm for-analyze for-mutate for-rtl for-formal for-fuzz: all $(TEST_TOOLS) $(BUILD)/man/sqsim.1
for-fuzz: $(FUZZ_BIN)

## quick (start): what one runs before a commit: two minutes from a warm build
.PHONY: quick
quick: all $(TEST_TOOLS) $(BUILD)/man/sqsim.1
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) format-check $(QUICK_BIN)
	$(call proven,$(QUICK_BIN) $(QUICK_TEST))

## firmware (verify): lib/firmware for rv32im on a PicoRV32 beside sq_top, in one Verilator model: text with no host
.PHONY: firmware
firmware:
	$(Q)FIRMWARE=1 ./setup.sh
	$(Q)$(MAKE) --no-print-directory t T=rtl/firmware.t

## without (verify): a copy of the sources without a room, R=gqsa (sp24, spqt, spqr): it builds, lints, passes quick
.PHONY: without
without:
	$(Q)JOBS=$(JOBS) SHORT="$(SHORT)" tests/without.sh "$(or $(R),gqsa)"

## test (start): set up, build, and run what finds a fault in a change; what CI runs
.PHONY: test test-build test-run
test: setup
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) test-build
	$(Q)$(MAKE) --no-print-directory test-run
test-build: all $(UNIT_BIN) $(TEST_TOOLS) $(FUZZ_BIN) $(BENCH_BIN) $(BUILD)/man/sqsim.1
test-run: export SQ_TIER := test
test-run:
	$(Q)$(MAKE) --no-print-directory lint SHORT=1
	$(call proven,$(UNIT_BIN) $(filter-out $(LONG_TEST),$(CLI_TEST) $(BENCH_TEST) $(RTL_TEST) $(FUZZ_TEST)))

## test-daily (test): what test leaves out: new seeds, every point, a twelfth of the faults, netlists
.PHONY: test-daily daily-list
test-daily: setup
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) test-build for-gpu
	$(Q)$(MAKE) --no-print-directory lint
	$(call proven,$(DAILY_PART))
daily-list:
	@printf '%s\n' $(DAILY_PART)

## test-all (test): test and test-daily, then the sanitizers, whole fault lists and long campaigns; hours
.PHONY: test-all san-build
test-all: test
	$(Q)$(MAKE) --no-print-directory test-daily
	$(Q)SQ_CHIP=all SQ_FAULTS=1 $(PROVE) tests/rtl/chip_counters.t tests/cli/energy.t tests/fuzz/build.t
	$(Q)$(MAKE) --no-print-directory analyze
	$(Q)$(MAKE) --no-print-directory SAN=1 -j$(JOBS) san-build
	$(Q)$(MAKE) --no-print-directory SAN=1 test-san
	$(Q)$(MAKE) --no-print-directory mutation
	$(Q)$(MAKE) --no-print-directory kill-test
	$(Q)$(MAKE) --no-print-directory cosim-all
san-build: all $(UNIT_BIN) $(TEST_TOOLS) $(FUZZ_BIN)

.PHONY: test-unit test-cli test-rtl test-san
## test-unit (test): models and simulator, test programs only (SAN=1 for the sanitizers)
test-unit: $(UNIT_BIN)
	$(Q)$(PROVE) $(UNIT_BIN)

## test-cli (test): the program's commands and refusals
test-cli: all $(TEST_TOOLS) $(BUILD)/man/sqsim.1
	$(Q)$(PROVE) $(CLI_TEST)

## test-rtl (test): verilated blocks and co-simulation
test-rtl: $(BUILD)/sqsim $(TEST_TOOLS)
	$(Q)$(PROVE) $(RTL_TEST)

# Under the sanitizers: what reads, encodes, simulates; not what builds RTL, installs, kills, or holds documents.
SAN_CLI := $(filter-out $(addprefix %/,$(addsuffix .t,analyze area cache claims confine deb defaults docs fault install joined kill owner \
  python readme reports sheet structure sweep_values targets toy_format verdict without)),$(CLI_TEST))
test-san: $(UNIT_BIN) $(TEST_TOOLS) $(FUZZ_BIN) $(BUILD)/sqsim
	$(Q)$(PROVE) $(FUZZ_TEST) $(UNIT_BIN) $(SAN_CLI)

## cosim (verify): CASES random cases over all points, SEED (2000, 1)
.PHONY: cosim
cosim: $(BUILD)/sqsim
	$(Q)$(BUILD)/sqsim cosim --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

## cosim-all (verify): every block at every point, ALL_CASES cases, SEED (22000, 1); every layer in every format
ALL_CASES ?= 22000
.PHONY: cosim-all
cosim-all: $(BUILD)/sqsim
	$(Q)$(BUILD)/sqsim cosim --block all --cases $(ALL_CASES) --seed $(SEED) --jobs $(JOBS)
	$(Q)$(BUILD)/sqsim cosim --layers --format all

## banks-rtl (verify): every point of the bank sweep of activation SQ, machine = RTL; an hour of builds
.PHONY: banks-rtl
banks-rtl: $(BUILD)/tests/sim/test_machine_rtl
	$(Q)SQ_BANKS=all $(PROVE) -v $<

## kill-test (verify): KILLS kills each of sweep, cosim, area, quantize at random moments (50); half an hour
KILLS ?= 50
.PHONY: kill-test
kill-test: $(BUILD)/sqsim
	$(Q)KILLS=$(KILLS) $(PROVE) -v tests/cli/kill.t

## flip-test (verify): FLIPS flipped bits in each cache of tool results (500); half an hour
FLIPS ?= 500
.PHONY: flip-test
flip-test: $(BUILD)/sqsim
	$(Q)FLIPS=$(FLIPS) $(PROVE) -v tests/cli/cache.t

## element-check (verify): every binary32 as E2M1 and E4M3 against ml_dtypes (SQ_PYTHON, python3); minutes
SQ_PYTHON ?= python3
.PHONY: element-check
element-check: $(BUILD)/tests/cli/element_codes
	$(Q)$(SQ_PYTHON) tests/cli/elements.py $< --all || { [ $$? = 77 ] && echo "skipped: $(SQ_PYTHON) has no ml_dtypes"; }

## coverage (verify): lines and toggled bits of rtl/ under the co-simulation, into build/coverage
.PHONY: coverage
coverage: $(BUILD)/sqsim
	$(Q)tests/rtl/coverage/coverage.sh $(BUILD)/sqsim build/coverage $(SEED) $(JOBS)

## formal (verify): all proofs of tests/formal/proofs.sh, their table into build/verification/formal.md
.PHONY: formal
FORMAL_MD = $(VERIFICATION)/formal.md
formal: $(BUILD)/sqsim
	$(Q)rm -f $(BUILD)/formal.rows && mkdir -p $(dir $(FORMAL_MD))
	$(Q)FORMAL=all TABLE=$(BUILD)/formal.rows $(PROVE) -v tests/formal/formal.t
	$(Q){ printf '<!-- make formal, revision %s, %s -->\n' "$$(reports/revision.sh)" \
	  "$$(yosys -V | cut -d'(' -f1)"; cat tests/formal/table_head.md $(BUILD)/formal.rows; \
	  awk -F'|' '{n++; cpu += $$7 + $$9; copies += $$8} END {printf "| **all %d** | | | | | | %d | %.0f in all |\n", n, copies, cpu}' $(BUILD)/formal.rows; } > $(FORMAL_MD).new
	$(Q)mv $(FORMAL_MD).new $(FORMAL_MD)

## waves (verify): a waveform of one small co-simulation under build/waves, for GTKWave; BLOCK=NAME (core)
.PHONY: waves
BLOCK ?= core
POINT ?= $(if $(filter core,$(BLOCK)),p09,quick)
waves: $(BUILD)/sqsim
	$(Q)$(BUILD)/sqsim cosim --block "$(BLOCK)" --point "$(POINT)" --seed $(SEED) --waves build/waves

## waves-picture (reports): a bug in the gather as GTKWave shows it, into docs/pictures/gather_bug.png
.PHONY: waves-picture
waves-picture: $(BUILD)/sqsim
	$(Q)tests/rtl/waves_picture.sh $< docs/pictures/gather_bug.png

## page-pictures (reports): the page of a sweep in a browser, 1280 and 390 pixels wide, into docs/pictures
.PHONY: page-pictures
page-pictures: $(BUILD)/sqsim
	$(Q)tests/docs/page_pictures.sh $< docs/pictures

## bitflip-test (verify): single flipped bits in databases and encoded files, FLIPS of them (500)
.PHONY: bitflip-test
FLIPS ?= 500
bitflip-test: $(BUILD)/sqsim
	$(Q)FLIPS=$(FLIPS) $(PROVE) -v tests/cli/bitflip.t

## mutation (verify): sources with one wrong cycle or bit, or that hang, must fail the co-simulation (a twelfth of them in test)
.PHONY: mutation
mutation: $(BUILD)/sqsim
	$(Q)SQ_FAULTS=1 SQ_BS_CASES=600 $(PROVE) $(addprefix tests/rtl/,$(addsuffix .t,\
	  mutation faults bs front outputs layers core_act hang engines engine_scaled top dma operand_buffer))

## mutants (verify): 100 and more faults in the netlist of each block; survivors proven equal (SEED=1,2,3)
.PHONY: mutants
mutants: $(BUILD)/sqsim
	$(Q)tests/rtl/mutants.sh $(BUILD)/sqsim tables tests/rtl/mutant_survivors.txt \
	  build/mutants $(SEED) $(JOBS)

## survivors (verify): N faults (200) put into the C of folder R (all of tests/mutate/rooms.txt), CHANGED=REVISION; an hour
.PHONY: survivors
N ?= 200
survivors: all
	$(Q)python3 tests/mutate/mutate.py -n $(N) -s $(DAILY) -j $(JOBS) $(if $(CHANGED),-c $(CHANGED)) $(R)

-include $(UNIT_BIN:=.o.d) $(TEST_TOOLS:=.o.d)
