# docs/: the pictures whose sources lie beside them.
## doc-pictures (reports): draw docs/pictures/*.svg from their sources by graphviz and wavedrom (PyPI; SQ_PYTHON)
.PHONY: doc-pictures
doc-pictures: $(BUILD)/sqsim
	$(Q)SQ_PYTHON=$(SQ_PYTHON) docs/draw.sh $(BUILD)/sqsim
