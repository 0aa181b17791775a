# Rare tasks. For everything else use the go command: see CONTRIBUTING.md.
.PHONY: check e2e-k8s release image

check: # everything that CI checks
	.ci/run

e2e-k8s: # the manifests on a real control plane; its first build takes ten minutes or more
	.ci/run e2e-k8s

release: # archives, SBOMs, image and checksums, in dist
	go -C deploy/release run .

image: # only the image, in dist
	go -C deploy/release run . -platforms=
