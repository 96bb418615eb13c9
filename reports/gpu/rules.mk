# reports/gpu: predictions of the GPU model, beside the records of `make gpu-measure`.
GPU_REPORT := reports/gpu

# gpu-report: regenerate reports/gpu: predicted speedups, with measured ones where records exist
.PHONY: gpu-report
gpu-report: $(BUILD)/sqsim
	$(Q)$(GPU_REPORT)/page.sh $< $(GPU_REPORT) > $(GPU_REPORT)/README.md.new
	$(Q)mv $(GPU_REPORT)/README.md.new $(GPU_REPORT)/README.md
	$(Q)cat $(GPU_REPORT)/README.md

# joined: print speedups of formats side by side: simulated accelerator, GPU, papers
.PHONY: joined
joined: $(BUILD)/sqsim
	$(Q)$(GPU_REPORT)/joined.sh $<
