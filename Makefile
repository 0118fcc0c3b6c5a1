.PHONY: help
help:
	@echo soon
