// Package k8s starts the real programs from what the manifests in deploy/k8s
// contain: the very arguments, environment and configuration of the rendered
// pods, with paths mapped into directories of a test and addresses to loopback.
//
// The rendered files are held to the Kustomize overlays, and strictly decoded,
// in the module test/k8s/render. What Kubernetes makes of them is shown in the
// module test/k8s/plane, with a real control plane and simulated nodes.
package k8s
