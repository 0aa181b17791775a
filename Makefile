# What is done rarely. Everything else is the go command's: see CONTRIBUTING.md.
.PHONY: check release image

check: # all that CI checks
	.ci/run

release: # archives, lists of what is in them, image and checksums, in dist
	go -C deploy/release run .

image: # the image alone, in dist
	go -C deploy/release run . -platforms=
