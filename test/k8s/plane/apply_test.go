package plane_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// manifest returns the rendered file of an overlay. The module test/k8s/render
// checks that it is current.
func manifest(t *testing.T, overlay string) string {
	t.Helper()
	b, err := os.ReadFile("../../../deploy/k8s/rendered/" + overlay + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// withImage replaces the image of a manifest, which has it once.
func withImage(t *testing.T, text, image string) string {
	t.Helper()
	return replaceOnce(t, text, "image: sesslog:dev", "image: "+image)
}

func replaceOnce(t *testing.T, text, from, to string) string {
	t.Helper()
	if n := strings.Count(text, from); n != 1 {
		t.Fatalf("%q is there %d times", from, n)
	}
	return strings.Replace(text, from, to, 1)
}

// us is the field manager that applies manifests.
const us = "sesslog-test"

// apply applies a manifest: each object by a strict server-side apply, which rejects
// unknown fields and conflicts with other field managers. It returns the resulting
// objects.
func (p *plane) apply(ctx context.Context, text string, options ...func(*metav1.PatchOptions)) ([]*unstructured.Unstructured, error) {
	o := metav1.PatchOptions{FieldManager: us, FieldValidation: metav1.FieldValidationStrict, Force: new(false)}
	for _, option := range options {
		option(&o)
	}
	var all []*unstructured.Unstructured
	for _, doc := range strings.Split(text, "\n---\n") {
		resource, u, err := p.resource(doc)
		if err != nil {
			return nil, err
		}
		got, err := resource.Patch(ctx, u.GetName(), types.ApplyPatchType, []byte(doc), o)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
		all = append(all, got)
	}
	return all, nil
}

// dryRun validates everything and stores nothing.
func dryRun(o *metav1.PatchOptions) { o.DryRun = []string{metav1.DryRunAll} }

// force takes over fields of other field managers.
func force(o *metav1.PatchOptions) { o.Force = new(true) }

// resource is where the object of a document belongs.
func (p *plane) resource(doc string) (dynamic.ResourceInterface, *unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
		return nil, nil, err
	}
	kind := u.GroupVersionKind()
	mapping, err := p.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil, nil, fmt.Errorf("%s is of no namespace", kind)
	}
	return p.any.Resource(mapping.Resource).Namespace(namespace), u, nil
}

// mustApply fails the test on an error or a warning.
func (p *plane) mustApply(t *testing.T, text string, options ...func(*metav1.PatchOptions)) []*unstructured.Unstructured {
	t.Helper()
	all, err := p.apply(t.Context(), text, options...)
	if err != nil {
		t.Fatal(err)
	}
	if said := p.warnings.taken(); len(said) != 0 {
		t.Errorf("the server warns: %q", said)
	}
	return all
}

// changesNothing applies a manifest again: no object changes, except for what
// controllers write.
func (p *plane) changesNothing(t *testing.T, text string, before []*unstructured.Unstructured) {
	t.Helper()
	for i, after := range p.mustApply(t, text) {
		was, is := asked(t, before[i]), asked(t, after)
		if !bytes.Equal(was, is) {
			t.Errorf("%s %s was\n%s\nand is\n%s", after.GetKind(), after.GetName(), was, is)
		}
	}
}

// asked is an object without what controllers say of it.
func asked(t *testing.T, u *unstructured.Unstructured) []byte {
	t.Helper()
	u = u.DeepCopy()
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	u.SetResourceVersion("") // the status counts, too
	var managed []metav1.ManagedFieldsEntry
	for _, m := range u.GetManagedFields() {
		if m.Manager == us {
			managed = append(managed, m)
		}
	}
	u.SetManagedFields(managed)
	if len(u.GetAnnotations()) == 0 {
		u.SetAnnotations(nil)
	}
	b, err := yaml.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What makes the pods.
var (
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// rolledOut waits until the workload has exactly n pods, all current and available.
func (p *plane) rolledOut(t *testing.T, workload schema.GroupVersionResource, n int64) {
	t.Helper()
	await(t, fmt.Sprintf("%s/sessnode has %d pods", workload.Resource, n), func(ctx context.Context) error {
		// The status may be older than the deletion of a pod.
		if pods := p.pods(ctx, t); len(pods) != int(n) || slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !available(&p) }) {
			return fmt.Errorf("%d pods, or not all available", len(pods))
		}
		u, err := p.any.Resource(workload).Namespace(namespace).Get(ctx, "sessnode", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, _, _ := unstructured.NestedMap(u.Object, "status")
		number := func(name string) int64 {
			v, _ := status[name].(int64)
			return v
		}
		if number("observedGeneration") != u.GetGeneration() || status["currentRevision"] != status["updateRevision"] {
			return fmt.Errorf("%v", status)
		}
		for _, name := range []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"} {
			if number(name) != n {
				return fmt.Errorf("%s: %v", name, status)
			}
		}
		return nil
	})
}
