# make help: what there is to make
B := $(or $(BUILD),build)

.PHONY: help run check tree export series shell bisect mutants deb clean

help:
	@echo 'run     build base and patched kernels, compare them (./run --help)'
	@echo 'check   all tests (./check --help)'
	@echo 'tree    the patched kernel as a git checkout: build/linux-6.1'
	@echo 'export  commits made there, back to patches/6.1 and the files here'
	@echo 'series  complete patches for git am: out/series'
	@echo 'shell   a prompt in the patched kernel'
	@echo 'bisect  build and boot every prefix of the series'
	@echo 'mutants break a rule each, and see which test fails'
	@echo 'deb     .deb packages of the patched kernel: make deb CONFIG=file'
	@echo 'clean   remove objects, logs and results; trees and ccache stay'

run check:
	./$@

tree export series shell bisect mutants:
	scripts/$@

deb:
	scripts/deb $(CONFIG)

clean:
	rm -rf out $(B)/log $(B)/*/.o-* $(B)/bisect $(B)/mutants
