package plane_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestClusterKeepsTwoOfThreeNodes(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	text := manifest(t, "cluster")
	applied := p.mustApply(t, text)
	p.rolledOut(t, statefulSets, 3)
	p.changesNothing(t, text, applied)
	p.holdsTogether(t)
	p.serves(t, "sessnode-peers", "cluster", p.pods(t.Context(), t))
	p.spreads(t)

	h := p.watch(t)
	p.drainsOneAtATime(t)
	p.rolledOut(t, statefulSets, 3)
	atLeastTwo(t, h.until(t, 3, "sesslog:dev"))

	p.upgradesOneAtATime(t, withImage(t, text, "sesslog:next"))
	p.stopsAtABadUpgrade(t, withImage(t, text, "sesslog:broken"), withImage(t, text, "sesslog:next"))
	p.keepsVolumes(t, withImage(t, text, "sesslog:next"))
}

func atLeastTwo(t *testing.T, states []map[string]state) {
	t.Helper()
	if fewest, most := bounds(states); fewest < 2 || most > 3 {
		t.Errorf("%d nodes at least, %d at most", fewest, most)
	}
}

// spreads finds each node in a zone of its own.
func (p *plane) spreads(t *testing.T) {
	t.Helper()
	var in []string
	for _, pod := range p.pods(t.Context(), t) {
		in = append(in, zoneOf(&pod))
	}
	slices.Sort(in)
	if !slices.Equal(in, zones) {
		t.Errorf("the nodes are in zones %v", in)
	}
}

// drainsOneAtATime empties a machine, and then a zone, while the others stay.
func (p *plane) drainsOneAtATime(t *testing.T) {
	t.Helper()
	t.Log("a drain moves a node within its zone, where its volume is")
	before := p.pod(t, "sessnode-1")
	p.drain(t, before)
	after := p.replaced(t, before)
	if after.Spec.NodeName == before.Spec.NodeName {
		t.Error("it is where it was")
	}
	p.spreads(t)

	t.Log("where its zone is away, it waits, and no other may go")
	p.drain(t, after)
	p.unplaceable(t, after)
	p.refusesToEvict(t, "sessnode-0")
	p.refusesToEvict(t, "sessnode-2")

	t.Log("once it is there again, the next may go")
	p.uncordon(t, before.Spec.NodeName, after.Spec.NodeName)
	p.replaced(t, after)
	next := p.pod(t, "sessnode-0")
	p.drain(t, next)
	p.replaced(t, next)
	p.uncordon(t, next.Spec.NodeName)
	p.spreads(t)
}

// upgradesOneAtATime rolls out an image from the last node to the first, each
// after the one before has been there for fifteen seconds.
func (p *plane) upgradesOneAtATime(t *testing.T, text string) {
	t.Helper()
	t.Log("an upgrade goes from the last node to the first")
	h := p.watch(t)
	p.mustApply(t, text)
	p.rolledOut(t, statefulSets, 3)
	states := h.until(t, 3, "sesslog:next")
	atLeastTwo(t, states)
	want := []string{"sessnode-2", "sessnode-1", "sessnode-0"}
	if got := order(states); !slices.Equal(got, want) {
		t.Errorf("the order is %v", got)
	}
	last := states[len(states)-1]
	for i, name := range want[1:] {
		// Kubernetes tells the time to the second.
		if after := last[name].since.Sub(last[want[i]].since); after < 14*time.Second {
			t.Errorf("%s is new %v after %s", name, after, want[i])
		}
	}
	p.holdsTogether(t)
}

// stopsAtABadUpgrade rolls out an image that does not get ready: one node has
// it, the others serve, and the way back is the one that docs/OPERATIONS.md has.
func (p *plane) stopsAtABadUpgrade(t *testing.T, bad, good string) {
	t.Helper()
	t.Log("an upgrade that does not work ends at the first node")
	before := p.pods(t.Context(), t)
	p.mustApply(t, bad)
	hangs := p.awaitPod(t, "sessnode-2", "running and not ready", func(pod *corev1.Pod) bool {
		return pod.Spec.Containers[0].Image == "sesslog:broken" && pod.Status.Phase == corev1.PodRunning
	})
	p.serves(t, "sessnode", "http", before[:2])
	// The others find it all the same: it may need them to get ready.
	p.serves(t, "sessnode-peers", "cluster", append(slices.Clone(before[:2]), *hangs))
	p.refusesToEvict(t, "sessnode-0")

	t.Log("the old image, and the pod that hangs deleted, is the way back")
	p.mustApply(t, good)
	err := p.CoreV1().Pods(namespace).Delete(t.Context(), hangs.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(hangs.UID))})
	if err != nil {
		t.Log("it was replaced by itself: ", err)
	}
	p.rolledOut(t, statefulSets, 3)
	after := p.pods(t.Context(), t)
	for i := range before[:2] {
		if before[i].UID != after[i].UID {
			t.Errorf("%s was replaced", before[i].Name)
		}
	}
}

// keepsVolumes takes nodes away and brings them back: each has what it had,
// unless its claim was deleted.
func (p *plane) keepsVolumes(t *testing.T, text string) {
	t.Helper()
	t.Log("scaled down and up, a node has its volume")
	was := p.claim(t, "data-sessnode-2")
	p.scale(t, statefulSets, 2)
	p.rolledOut(t, statefulSets, 2)
	p.sameVolume(t, was)
	p.asksBeforeItScales(t, text)
	p.mustApply(t, text, force)
	p.rolledOut(t, statefulSets, 3)
	p.sameVolume(t, was)

	t.Log("deleted and applied again, the cluster has its volumes")
	p.deleteSet(t)
	p.mustApply(t, text)
	p.rolledOut(t, statefulSets, 3)
	p.sameVolume(t, was)

	t.Log("a volume that is lost is replaced by an empty one of the same zone")
	lost := p.pod(t, "sessnode-2")
	if err := p.CoreV1().PersistentVolumeClaims(namespace).Delete(t.Context(), was.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.CoreV1().Pods(namespace).Delete(t.Context(), lost.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.replaced(t, lost)
	p.rolledOut(t, statefulSets, 3)
	if now := p.claim(t, was.Name); now.UID == was.UID || now.Spec.VolumeName == was.Spec.VolumeName {
		t.Errorf("the volume is %s, as it was", now.Spec.VolumeName)
	}
	p.spreads(t)
	p.holdsTogether(t)
}

func (p *plane) sameVolume(t *testing.T, was *corev1.PersistentVolumeClaim) {
	t.Helper()
	if now := p.claim(t, was.Name); now.UID != was.UID || now.Spec.VolumeName != was.Spec.VolumeName {
		t.Errorf("%s was %s and is %s", was.Name, was.Spec.VolumeName, now.Spec.VolumeName)
	}
}
