package plane_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSingleKeepsItsVolume(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	text := manifest(t, "single")
	applied := p.mustApply(t, text)
	p.rolledOut(t, statefulSets, 1)
	p.changesNothing(t, text, applied)
	p.holdsTogether(t)
	claim := p.claim(t, "data-sessnode-0")

	t.Log("a drain moves it to the other machine that has its volume")
	before := p.pod(t, "sessnode-0")
	p.drain(t, before)
	after := p.replaced(t, before)
	if after.Spec.NodeName == before.Spec.NodeName || zoneOf(after) != zoneOf(before) {
		t.Errorf("it was on %s and is on %s", before.Spec.NodeName, after.Spec.NodeName)
	}
	p.uncordon(t, before.Spec.NodeName)
	p.rolledOut(t, statefulSets, 1)

	t.Log("a drain does not wait for a node that serves nobody")
	unready := p.unready(t, p.pod(t, "sessnode-0"))
	if err := p.evict(t.Context(), unready.Name); err != nil {
		t.Errorf("a node that is not ready may not go: %v", err)
	}
	p.replaced(t, unready)

	t.Log("an upgrade replaces it")
	h := p.watch(t)
	upgraded := p.mustApply(t, withImage(t, text, "sesslog:next"))
	p.rolledOut(t, statefulSets, 1)
	if _, most := bounds(h.until(t, 1, "sesslog:next")); most != 1 {
		t.Errorf("%d nodes at once, on one volume", most)
	}
	p.changesNothing(t, withImage(t, text, "sesslog:next"), upgraded)

	t.Log("scaled to none and back, or deleted and applied again, it has its volume")
	p.scale(t, statefulSets, 0)
	p.rolledOut(t, statefulSets, 0)
	p.scale(t, statefulSets, 1)
	p.rolledOut(t, statefulSets, 1)
	p.deleteSet(t)
	p.mustApply(t, text)
	p.rolledOut(t, statefulSets, 1)
	if now := p.claim(t, "data-sessnode-0"); now.UID != claim.UID || now.Spec.VolumeName != claim.Spec.VolumeName {
		t.Errorf("its volume was %s and is %s", claim.Spec.VolumeName, now.Spec.VolumeName)
	}
}

// unready has a pod say that it is not ready, as it does where its log is not.
func (p *plane) unready(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotReady"
		}
	}
	pod, err := p.CoreV1().Pods(namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// deleteSet deletes the StatefulSet, and returns once its pods have gone.
func (p *plane) deleteSet(t *testing.T) {
	t.Helper()
	err := p.AppsV1().StatefulSets(namespace).Delete(t.Context(), "sessnode", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
	if err != nil {
		t.Fatal(err)
	}
	p.gone(t)
}
