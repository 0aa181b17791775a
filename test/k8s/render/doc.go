// Package render checks that Kubernetes accepts the manifests in deploy/k8s. It is a
// module of its own, so that the programs do not have its dependencies.
//
// Its tests render each overlay as kubectl does, decode the result strictly, and
// compare it with the files in deploy/k8s/rendered, from which other tests start
// the real processes. After a change of the manifests:
//
//	go -C test/k8s/render test . -update
package render
