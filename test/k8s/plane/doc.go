// Package plane runs the manifests in deploy/k8s on a real Kubernetes control plane:
// kube-apiserver with etcd, the controllers and the scheduler. kwok simulates nodes
// in three zones. No container runs: kwok makes a pod ready two seconds after it was
// placed, unless its image is sesslog:broken. Everything else is as in any cluster:
// admission, placement, the order of replacement, and eviction.
//
// All of it is built from the Go module proxy, once per machine, and kept in
// the user's cache directory. That takes ten minutes or more, so the tests run
// only with -long:
//
//	make e2e-k8s
//
// It is a separate module, so that the programs do not have its dependencies.
package plane
