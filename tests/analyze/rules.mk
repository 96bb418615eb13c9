# tests/analyze/: what gcc -fanalyzer and cppcheck find in the C of the product, held against a baseline (hold.sh).
## analyze (verify): cppcheck and gcc -fanalyzer over models/, sim/ and lib/: no finding beyond the baseline; a minute
.PHONY: analyze
analyze: $(BLOCK_TABLES)
	$(Q)JOBS=$(JOBS) tests/analyze/hold.sh cppcheck || [ $$? = 77 ]
	$(Q)JOBS=$(JOBS) tests/analyze/hold.sh gcc || [ $$? = 77 ]
