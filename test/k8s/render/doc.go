// Package render holds the manifests in deploy/k8s to what Kubernetes takes. It
// is a module of its own, so that the programs do not carry its dependencies.
//
// Its tests render each overlay as kubectl does, decode what comes out
// strictly, and compare it with the files in deploy/k8s/rendered, from which
// other tests start the real processes. After a change of the manifests:
//
//	go -C test/k8s/render test . -update
package render
