# SPDX-License-Identifier: Apache-2.0
# sqsim: `make` prints the targets. Each folder's rules.mk says how its part is built.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
.SHELLFLAGS := -eo pipefail -c

# ---- what reaches a shell ---------------------------------------------------------------------
# Names, numbers and paths that the command line or the environment gives stand in recipes: none has a character that a
# shell reads, and a blank only where there may be several. Programs and their flags are the user's own commands.
blank := $() $()
hash := \#
define newline


endef
SHELL_READS := $$ ` " ' \ ; & | < > ( ) { } [ ] ! $(hash)
GIVEN := R T BLOCKS DESIGN DESIGNS PERIOD BLOCK POINT TARGET BENCH FORMATS MODEL SHORT SEED CASES JOBS SECONDS SEQ BUDGET MORE KILLS FLIPS PREFIX DESTDIR BINDIR LIBDIR \
         INCLUDEDIR MANDIR BASHDIR ZSHDIR DEB WHEEL DIST JSON D3 LIBERTIES SRAM SQ_DATA SMOLLM2 GEMMA3 STORIES
PROGRAMS := CC CXX CXX_GPU CCACHE NVCC VERILATOR YOSYS GNUPLOT CLANG AFL_CC PYTHON SQ_PYTHON INSTALL MAKE SHELL %FLAGS CFLAGS% LDLIBS WARN \
            FUZZ_OPT
given = $(filter-out $(PROGRAMS),$(foreach v,$(.VARIABLES),$(if $(findstring command,$(origin $v)),$v,$(if $(findstring environment,$(origin $v)),$(filter $(GIVEN),$v)))))
bad = $(if $(filter R,$1),$(findstring /,$(value $1)))$(if $(findstring $(newline),$(value $1)),a newline)$(foreach c,$(SHELL_READS) $(if $(filter T,$1),,* ?),$(findstring $c,$(value $1)))$(if $(filter FORMATS LIBERTIES TARGET BENCH T MODEL DESIGNS BLOCKS,$1),,$(if $(word 2,x$(value $1)x),a blank))
$(foreach v,$(given) CURDIR,$(if $(strip $(call bad,$v)),$(error $v = '$(value $v)' has $(strip $(call bad,$v)), need a name, a number or a path without what a shell reads)))

# ---- variables ------------------------------------------------------------------------------
CC        ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
CCACHE    ?= $(shell command -v ccache)
VERILATOR ?= verilator
YOSYS     ?= yosys
GNUPLOT   ?= gnuplot
JOBS      ?= $(shell nproc)
SEED      ?= 1
# The seed of campaigns that ask for equality alone: a new one each day, unless SEED is given.
DAILY     := $(if $(filter file,$(origin SEED)),$(shell date -u +%Y%m%d),$(SEED))
CASES     ?= 2000
SAN       ?= 0
V         ?= 0
# A folder of files that others made, for tests and reports (docs/data.md); empty: what needs it is skipped, aloud.
SQ_DATA   ?=
override SQ_DATA := $(if $(SQ_DATA),$(abspath $(SQ_DATA)))
export SQ_DATA
Q := $(if $(filter 1,$(V)),,@)

, := ,
# SAN=1 builds everything once more under AddressSanitizer and UBSan, beside the normal build.
BUILD  := $(if $(filter 1,$(SAN)),build/san,build)
SANFLAGS := $(if $(filter 1,$(SAN)),-fsanitize=address$(,)undefined -fno-sanitize-recover=all)
WARN   := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
CFLAGS ?= -O2 -g
# Position independent and hidden, so that the same objects make libsqsim.so (lib/).
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE $(WARN) -ffp-contract=off -fno-fast-math -fopenmp \
             -fPIC -fvisibility=hidden $(CFLAGS) $(SANFLAGS) -I. -I$(BUILD) -ffile-prefix-map=$(CURDIR)=. -MMD -MP
LDLIBS  = -llapacke -lopenblas -ljansson -lcyaml -lyaml -lsqlite3 -lcsv -lxxhash -lpcre2-8 -lutf8proc -lnettle -lz -lm -ldl -lpthread

# ---- parts ----------------------------------------------------------------------------------
include models/rules.mk sim/rules.mk lib/rules.mk rtl/rules.mk tests/rules.mk
-include gpu/rules.mk docs/rules.mk reports/rules.mk

# ---- top level ------------------------------------------------------------------------------
## all (start): build the libraries and the program build/sqsim
.PHONY: all
all: $(BUILD)/sqsim $(BUILD)/libsqsim.so

## demo (start): a model writes text on the chip; a layer in RTL; formats compared; build/demo/index.html; 2 minutes; RTL=1
.PHONY: demo
demo: setup
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/sqsim
	$(Q)python3 python/demo.py $(BUILD)/sqsim $(BUILD)/demo $(if $(filter 1,$(RTL)),rtl)

## setup (start): install what is missing with apt-get (Debian 12), one line elsewhere
.PHONY: setup
setup:
	$(Q)./setup.sh

## format (test): apply clang-format to every C and C++ file
## format-check (test): fail if clang-format would change a file
.PHONY: format format-check
FORMATTED = $(wildcard models/*.[ch] models/*/*.[ch] sim/*/*.[ch] sim/*/*/*.[ch] sim/*/*.cpp lib/*.[ch] lib/*/*.c \
            gpu/*/*.[ch] gpu/*.cuh gpu/*.cu gpu/*/*.cu gpu/*/*.cuh reports/*/*.[ch] tests/*.h tests/*/*.c tests/*/*.h tests/unit/*/*.[ch] tests/*/*.cpp tests/*/*/*.cpp)
format:
	$(Q)clang-format -i $(FORMATTED)
format-check:
	$(Q)clang-format --dry-run -Werror $(FORMATTED)

## clean (start): remove build/
.PHONY: clean
clean:
	$(Q)rm -rf build

# A line "## target (group): what it does" above a target puts it here; a test holds each to it.
.PHONY: help
help:
	@echo "sqsim: make TARGET [SAN=1] [SEED=n] [CASES=n] [JOBS=n] [V=1]"
	@for g in start test verify reports gpu packages; do echo; echo "$$g"; \
	  sed -n "s/^## \([a-z0-9-]*\) ($$g): /  \1|/p" $(MAKEFILE_LIST) | column -t -s '|' -c 100; done
