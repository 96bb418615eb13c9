# lib/: libsqsim as others link it: one header, one shared library, what make install puts where.
PREFIX  ?= /usr/local
DESTDIR ?=
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
# Program and library look for them around their own folder: share/sqsim/sim/machines.
DATADIR    := $(PREFIX)/share/sqsim
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
INSTALL    ?= install

VERSION := $(shell sed -n 's/.*SQ_VERSION "\(.*\)"/\1/p' sim/io/sq_version.h)
SONAME  := libsqsim.so.$(firstword $(subst ., ,$(VERSION)))
LIB_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out lib/sq_driver.c,$(wildcard lib/*.c)))

# The library takes from the two archives only what is reached; it exports nothing but sqsim_*.
$(BUILD)/libsqsim.so: $(LIB_OBJ) $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a lib/sqsim.map
	$(Q)$(CC) $(CFLAGS_ALL) -shared -Wl,-soname,$(SONAME) -Wl,--version-script,lib/sqsim.map \
	  -Wl,--no-undefined -Wl,--as-needed $(LIB_OBJ) $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a \
	  $(LDLIBS) -o $@
	$(Q)ln -sf libsqsim.so $(BUILD)/$(SONAME)
$(BUILD)/obj/lib/sq_api.o: $(BUILD)/sq_revision.h
$(BUILD)/obj/lib/sq_api.o: CFLAGS_ALL += -include $(BUILD)/sq_revision.h
-include $(LIB_OBJ:.o=.d)

$(BUILD)/man/sqsim.1: $(BUILD)/sqsim lib/man.sh
	$(Q)lib/man.sh $(BUILD)/sqsim $(@D)

# For platforms in SystemC: headers, and of the models and blocks what they reach, without the rest.
SYSC_HEADERS = $(wildcard models/*.h models/*/*.h sim/block/*/*.h sim/dram/*.h sim/sysc/sq_tlm_*.h)
SYSC_OBJ = $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard sim/block/*/*.c) sim/dram/sq_dram.c sim/dram/sq_dram_map.c sim/dram/sq_dram_rules.c) $(BUILD)/libsqmodels.a
$(BUILD)/libsqsim-sysc.a: $(SYSC_OBJ)
	$(Q)rm -rf $@ $(BUILD)/sysc-objects && mkdir -p $(BUILD)/sysc-objects
	$(Q)cd $(BUILD)/sysc-objects && ar x ../libsqmodels.a
	$(Q)ar rcs $@ $(filter %.o,$^) $(BUILD)/sysc-objects/*.o

# The driver of the chip, for hosts that are compiled with the library; firmware takes its source.
$(BUILD)/libsqsim-driver.a: $(BUILD)/obj/lib/sq_driver.o
	$(Q)ar rcs $@ $<

$(BUILD)/%: lib/%.in lib/rules.mk FORCE
	$(Q)mkdir -p $(@D)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
	  $< > $@

# Public headers name each other by their path in the sources, and lie in one folder where they are installed.
HEADERS = lib/sqsim.h lib/sq_regs.h lib/sq_driver.h lib/sq_chip.h lib/sq_chip_host.h lib/sq_chip_memory.h

# What the program reads: the embedded model and workloads, machines, sweeps, RTL and its bridge; the driver to compile.
DATA = $(shell git ls-files traces rtl sim/machines sim/sweeps sim/gpu/sums 2>/dev/null | grep -v '/rules.mk$$' || \
          find traces rtl sim/machines sim/sweeps sim/gpu/sums -type f) \
        sim/cosim/sq_rtl.h sim/cosim/sq_bridge.h sim/sweep/sq_report.html \
        lib/sq_driver.c lib/sq_driver.h lib/sq_regs.h $(wildcard reports/gpu/*.jsonl)

## install (packages): program, libsqsim, header, manual pages, completion; PREFIX (/usr/local), DESTDIR
.PHONY: install
install: $(BUILD)/sqsim $(BUILD)/libsqsim.so $(BUILD)/man/sqsim.1 $(BUILD)/sqsim.pc \
    $(BUILD)/sqsim-sysc.pc $(BUILD)/libsqsim-sysc.a $(BUILD)/libsqsim-driver.a $(BUILD)/sqsim-config.cmake \
    $(BUILD)/sqsim-config-version.cmake
	$(Q)$(INSTALL) -D -m 755 $(BUILD)/sqsim $(DESTDIR)$(BINDIR)/sqsim
	$(Q)$(INSTALL) -D -m 644 $(BUILD)/libsqsim.so $(DESTDIR)$(LIBDIR)/libsqsim.so.$(VERSION)
	$(Q)ln -sf libsqsim.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libsqsim.so
	$(Q)mkdir -p $(BUILD)/include
	$(Q)for h in $(HEADERS); do sed 's|^#include "lib/|#include "|' $$h > $(BUILD)/include/$${h##*/}; done
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(INCLUDEDIR) $(HEADERS:lib/%=$(BUILD)/include/%)
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(LIBDIR)/pkgconfig $(BUILD)/sqsim.pc $(BUILD)/sqsim-sysc.pc
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(LIBDIR)/cmake/sqsim $(BUILD)/sqsim-config.cmake $(BUILD)/sqsim-config-version.cmake
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(LIBDIR) $(BUILD)/libsqsim-sysc.a $(BUILD)/libsqsim-driver.a
	$(Q)for f in $(SYSC_HEADERS); do $(INSTALL) -D -m 644 $$f $(DESTDIR)$(INCLUDEDIR)/sqsim-sysc/$$f; done
	$(Q)$(INSTALL) -D -m 644 -t $(DESTDIR)$(MANDIR)/man1 $(BUILD)/man/*.1
	$(Q)$(INSTALL) -D -m 644 lib/completion/sqsim.bash $(DESTDIR)$(BASHDIR)/sqsim
	$(Q)$(INSTALL) -D -m 644 lib/completion/_sqsim $(DESTDIR)$(ZSHDIR)/_sqsim
	$(Q)for f in $(DATA); do $(INSTALL) -D -m 644 $$f $(DESTDIR)$(DATADIR)/$$f; done
	$(Q)[ -n "$(DESTDIR)" ] || lib/loader.sh $(LIBDIR) $(SONAME)

## uninstall (packages): remove what install put there, with the same PREFIX and DESTDIR
.PHONY: uninstall
uninstall:
	$(Q)rm -f $(addprefix $(DESTDIR),$(BINDIR)/sqsim $(LIBDIR)/libsqsim.so.$(VERSION) $(LIBDIR)/$(SONAME) \
	  $(LIBDIR)/libsqsim.so $(HEADERS:lib/%=$(INCLUDEDIR)/%) $(LIBDIR)/pkgconfig/sqsim.pc \
	  $(LIBDIR)/pkgconfig/sqsim-sysc.pc $(LIBDIR)/libsqsim-sysc.a $(LIBDIR)/libsqsim-driver.a $(BASHDIR)/sqsim \
	  $(ZSHDIR)/_sqsim $(MANDIR)/man1/sqsim.1 $(MANDIR)/man1/sqsim-*.1)
	$(Q)rm -rf $(DESTDIR)$(DATADIR) $(DESTDIR)$(INCLUDEDIR)/sqsim-sysc $(DESTDIR)$(LIBDIR)/cmake/sqsim

## deb (packages): a Debian package of the same in build/, checked by lintian where it is
.PHONY: deb
DEB ?= $(BUILD)/deb
deb: all
	$(Q)lib/deb.sh "$(DEB)" $(VERSION) $(MAKE)

## wheel (packages): the Python package with libsqsim inside, into build/wheel, for pip install
.PHONY: wheel
PYTHON ?= python3
WHEEL ?= $(BUILD)/wheel
wheel: all
	$(Q)cp $(BUILD)/libsqsim.so $(BUILD)/libsqsim.stripped.so && strip --strip-unneeded $(BUILD)/libsqsim.stripped.so
	$(Q)$(PYTHON) python/make_wheel.py $(BUILD)/libsqsim.stripped.so $(VERSION) "$(WHEEL)"

## dist (packages): the sources of the last commit as build/sqsim-VERSION.tar.gz
.PHONY: dist
DIST ?= $(BUILD)
dist:
	$(Q)mkdir -p "$(DIST)"
	$(Q)git describe --always HEAD > $(DIST)/REVISION
	$(Q)git archive --prefix=sqsim-$(VERSION)/ --add-file=$(DIST)/REVISION HEAD | \
	  gzip -9n > $(DIST)/sqsim-$(VERSION).tar.gz
	$(Q)rm $(DIST)/REVISION
	$(Q)echo $(DIST)/sqsim-$(VERSION).tar.gz
