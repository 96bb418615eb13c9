# tests/bench/: one program bench_NAME.c per question (bench.h). Times are no test, but that every
# program runs is one: bench.t.
BENCH_SRC := $(wildcard tests/bench/bench_*.c)
BENCH_BIN := $(BENCH_SRC:tests/%.c=$(BUILD)/tests/%)
BENCH_TEST := $(wildcard tests/bench/*.t)
-include $(BENCH_BIN:=.o.d)

## bench (verify): rates of products, encoders, RTL, machines, sweeps, readers, eval (BENCH="gemm .."); also into JSON=FILE (build/bench.json)
## bench-check (verify): every benchmark for a moment; part of `make test`
JSON ?= $(BUILD)/bench.json
.PHONY: bench bench-check for-bench
for-bench: all $(BENCH_BIN)
bench: $(BENCH_BIN) $(BUILD)/sqsim
	$(Q)tests/bench/bench.sh $(BUILD) "$(JSON)" $(BENCH)
bench-check: $(BENCH_BIN) $(BUILD)/sqsim
	$(Q)$(PROVE) $(BENCH_TEST)

## bench-peers (verify): llama.cpp and SCALE-Sim from PyPI on the same work, where pip can install them; after make smollm2
.PHONY: bench-peers
bench-peers: $(BUILD)/sqsim
	$(Q)tests/bench/peers.sh $(BUILD)
