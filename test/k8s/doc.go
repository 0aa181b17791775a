// Package k8s starts the real programs with the arguments, environment and
// configuration of the rendered manifests in deploy/k8s. Paths are mapped to test
// directories, and addresses to loopback.
//
// The module test/k8s/render compares the rendered files with the Kustomize
// overlays and decodes them strictly. The module test/k8s/plane applies them to a
// real control plane with simulated nodes.
package k8s
