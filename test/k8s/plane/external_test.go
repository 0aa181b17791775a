package plane_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestExternalScales(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	text := manifest(t, "external")
	applied := p.mustApply(t, text)
	p.rolledOut(t, deployments, 2)
	p.changesNothing(t, text, applied)
	p.holdsTogether(t)
	p.evenOver(t, 2)

	t.Log("while a drained node has no place, the other may not go")
	pods := p.pods(t.Context(), t)
	p.cordon(t, machines()...)
	p.drain(t, &pods[0])
	p.waitsForAPlace(t)
	p.refusesToEvict(t, pods[1].Name)
	p.uncordon(t, machines()...)
	p.rolledOut(t, deployments, 2)
	p.drain(t, &pods[1])
	p.uncordon(t, pods[1].Spec.NodeName)
	p.rolledOut(t, deployments, 2)

	t.Log("an upgrade starts a node before it ends one")
	h := p.watch(t)
	p.mustApply(t, withImage(t, text, "sesslog:next"))
	p.rolledOut(t, deployments, 2)
	p.twoAllTheTime(t, h, "sesslog:next")
	p.holdsTogether(t)

	t.Log("an upgrade that does not work leaves the nodes that do")
	h = p.watch(t)
	served := p.pods(t.Context(), t)
	p.mustApply(t, withImage(t, text, "sesslog:broken"))
	p.hangs(t)
	p.serves(t, "sessnode", "http", served)
	p.mustApply(t, withImage(t, text, "sesslog:next"))
	p.rolledOut(t, deployments, 2)
	p.twoAllTheTime(t, h, "sesslog:next")

	t.Log("scaled up, nodes are spread over the zones; scaled down, two stay")
	h = p.watch(t)
	p.scale(t, deployments, 5)
	p.rolledOut(t, deployments, 5)
	p.evenOver(t, 3)
	p.holdsTogether(t)
	p.asksBeforeItScales(t, withImage(t, text, "sesslog:next"))
	p.rolledOut(t, deployments, 5)
	p.scale(t, deployments, 2)
	p.rolledOut(t, deployments, 2)
	if fewest, _ := bounds(h.until(t, 2, "sesslog:next")); fewest < 2 {
		t.Errorf("%d nodes at least", fewest)
	}
}

// twoAllTheTime finds two nodes that callers reached in every state, and at
// most one more than that beside those that went.
func (p *plane) twoAllTheTime(t *testing.T, h *history, image string) {
	t.Helper()
	states := h.until(t, 2, image)
	if fewest, _ := bounds(states); fewest < 2 {
		t.Errorf("%d nodes at least", fewest)
	}
	for _, s := range states {
		staying := 0
		for _, pod := range s {
			if !pod.going {
				staying++
			}
		}
		if staying > 3 {
			t.Errorf("%d nodes at once: %v", staying, s)
		}
	}
}

// evenOver finds the nodes on as many zones, each on a machine of its own, and
// no zone with two more than another.
func (p *plane) evenOver(t *testing.T, want int) {
	t.Helper()
	in, on := map[string]int{}, map[string]int{}
	for _, pod := range p.pods(t.Context(), t) {
		in[zoneOf(&pod)]++
		on[pod.Spec.NodeName]++
		if on[pod.Spec.NodeName] > 1 {
			t.Errorf("two nodes are on %s", pod.Spec.NodeName)
		}
	}
	least, most := len(on), 0
	for _, n := range in {
		least, most = min(least, n), max(most, n)
	}
	if len(in) != want || most-least > 1 {
		t.Errorf("the nodes are in zones %v", in)
	}
}

// waitsForAPlace waits until the scheduler has found no machine for a node.
func (p *plane) waitsForAPlace(t *testing.T) {
	t.Helper()
	p.awaitOne(t, "without a node", func(pod *corev1.Pod) bool {
		return condition(pod, corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
	})
}

// hangs waits until a node of an image that does not get ready runs.
func (p *plane) hangs(t *testing.T) {
	t.Helper()
	p.awaitOne(t, "running and not ready", func(pod *corev1.Pod) bool {
		return pod.Spec.Containers[0].Image == "sesslog:broken" && pod.Status.Phase == corev1.PodRunning
	})
}

func (p *plane) awaitOne(t *testing.T, what string, is func(*corev1.Pod) bool) {
	t.Helper()
	await(t, "a pod is "+what, func(ctx context.Context) error {
		pods := p.pods(ctx, t)
		for i := range pods {
			if is(&pods[i]) {
				return nil
			}
		}
		return fmt.Errorf("none of %d is", len(pods))
	})
}
