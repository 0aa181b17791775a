package plane_test

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// scale says how many pods there are to be, as kubectl scale does.
func (p *plane) scale(t *testing.T, workload schema.GroupVersionResource, n int) {
	t.Helper()
	_, err := p.any.Resource(workload).Namespace(namespace).Patch(t.Context(), "sessnode", types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{FieldManager: "kubectl"}, "scale")
	if err != nil {
		t.Fatal(err)
	}
}

// asksBeforeItScales applies a manifest that says another number than scale
// did: the server names the field, and changes nothing unless it is told to.
func (p *plane) asksBeforeItScales(t *testing.T, text string) {
	t.Helper()
	_, err := p.apply(t.Context(), text)
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Errorf("applied over another number of nodes: %v", err)
	}
}

// gone waits until there are no pods and no StatefulSet.
func (p *plane) gone(t *testing.T) {
	t.Helper()
	await(t, "the nodes have gone", func(ctx context.Context) error {
		if n := len(p.pods(ctx, t)); n != 0 {
			return fmt.Errorf("%d are there", n)
		}
		_, err := p.AppsV1().StatefulSets(namespace).Get(ctx, "sessnode", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the StatefulSet: %w", err)
	})
}
