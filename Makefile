# What is done rarely. Everything else is the go command's: see CONTRIBUTING.md.
.PHONY: check e2e-k8s release image

check: # all that CI checks
	.ci/run

e2e-k8s: # the manifests on Kubernetes itself, which is built first: ten minutes or more
	.ci/run e2e-k8s

release: # archives, lists of what is in them, image and checksums, in dist
	go -C deploy/release run .

image: # the image alone, in dist
	go -C deploy/release run . -platforms=
