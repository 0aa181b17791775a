// Package plane runs the manifests in deploy/k8s on Kubernetes itself: a real
// kube-apiserver with etcd, the controllers and the scheduler, and nodes that
// kwok simulates in three zones. No container runs: a pod is ready because kwok
// says so, two seconds after it was placed, unless its image is sesslog:broken.
// All else is as in any cluster: what is admitted, where pods are placed, in
// which order they are replaced, what may be evicted.
//
// All of it is built from the Go module proxy, once per machine, and kept in
// the user's cache directory. That takes ten minutes or more, so the tests run
// only where -long asks for them:
//
//	make e2e-k8s
//
// It is a module of its own, so that none of that is in sesslog's.
package plane
