package plane_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

var nodes = metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=sessnode"}

// pods are the nodes' pods, by name.
func (p *plane) pods(ctx context.Context, t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := p.CoreV1().Pods(namespace).List(ctx, nodes)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

func (p *plane) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := p.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// available reports whether the pod serves callers.
func available(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && condition(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// awaitPod returns the pod of that name once it is as it should be.
func (p *plane) awaitPod(t *testing.T, name, what string, is func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	await(t, name+" is "+what, func(ctx context.Context) error {
		pod, err := p.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !is(pod) {
			return fmt.Errorf("%s on %q: %v", pod.Status.Phase, pod.Spec.NodeName, pod.Status.Conditions)
		}
		found = pod
		return nil
	})
	return found
}

// replaced returns the pod that has taken the place of another, once it is available.
func (p *plane) replaced(t *testing.T, old *corev1.Pod) *corev1.Pod {
	t.Helper()
	return p.awaitPod(t, old.Name, "there again", func(pod *corev1.Pod) bool { return pod.UID != old.UID && available(pod) })
}

// unplaceable returns the pod that has taken the place of another, once the
// scheduler has found no node for it.
func (p *plane) unplaceable(t *testing.T, old *corev1.Pod) *corev1.Pod {
	t.Helper()
	return p.awaitPod(t, old.Name, "without a node", func(pod *corev1.Pod) bool {
		return pod.UID != old.UID && condition(pod, corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
	})
}

// cordon lets nothing more be placed on nodes; uncordon does again.
func (p *plane) cordon(t *testing.T, names ...string) { t.Helper(); p.setUnschedulable(t, true, names) }

func (p *plane) uncordon(t *testing.T, names ...string) {
	t.Helper()
	p.setUnschedulable(t, false, names)
}

func (p *plane) setUnschedulable(t *testing.T, is bool, names []string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, is)
	for _, name := range names {
		if _, err := p.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// machines are the names of all nodes of Kubernetes.
func machines() []string {
	var names []string
	for _, zone := range zones {
		names = append(names, zone+"-1", zone+"-2")
	}
	return names
}

// zoneOf is the zone of the machine that a pod is on.
func zoneOf(pod *corev1.Pod) string {
	zone, _, _ := strings.Cut(pod.Spec.NodeName, "-")
	return zone
}

// evict asks for a pod to go, as a drain does.
func (p *plane) evict(ctx context.Context, name string) error {
	return p.PolicyV1().Evictions(namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})
}

// drain moves a pod off its machine, which takes nothing more then. It asks
// again where the budget is not up to date yet, as kubectl does.
func (p *plane) drain(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	p.cordon(t, pod.Spec.NodeName)
	await(t, "the eviction of "+pod.Name, func(ctx context.Context) error { return p.evict(ctx, pod.Name) })
}

// refusesToEvict holds the server to the budget: the pod may not go.
func (p *plane) refusesToEvict(t *testing.T, name string) {
	t.Helper()
	await(t, "the disruption budget is spent", func(ctx context.Context) error {
		budget, err := p.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, "sessnode", metav1.GetOptions{})
		if err == nil && budget.Status.DisruptionsAllowed != 0 {
			err = fmt.Errorf("%d may go", budget.Status.DisruptionsAllowed)
		}
		return err
	})
	err := p.evict(t.Context(), name)
	if !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("the eviction of %s, while another is away: %v", name, err)
	}
}

// A history is the sequence of states of the pods.
type history struct {
	mu     sync.Mutex
	states []map[string]state
}

// A state describes a pod.
type state struct {
	uid       types.UID
	image     string
	available bool
	since     time.Time // when it became available, to the second
	going     bool
}

// watch records the states of the pods until the test ends.
func (p *plane) watch(t *testing.T) *history {
	t.Helper()
	list, err := p.CoreV1().Pods(namespace).List(t.Context(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]state{}
	for i := range list.Items {
		now[list.Items[i].Name] = stateOf(&list.Items[i])
	}
	h := &history{states: []map[string]state{now}}
	options := nodes
	options.ResourceVersion = list.ResourceVersion
	w, err := p.CoreV1().Pods(namespace).Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		w.Stop()
		<-ended
	})
	go func() {
		defer close(ended)
		for ev := range w.ResultChan() {
			if pod, ok := ev.Object.(*corev1.Pod); ok {
				h.add(ev.Type, pod)
			}
		}
	}()
	return h
}

func stateOf(pod *corev1.Pod) state {
	return state{pod.UID, pod.Spec.Containers[0].Image, available(pod), condition(pod, corev1.PodReady).LastTransitionTime.Time, pod.DeletionTimestamp != nil}
}

func (h *history) add(what watch.EventType, pod *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := maps.Clone(h.states[len(h.states)-1])
	if what == watch.Deleted {
		delete(now, pod.Name)
	} else {
		now[pod.Name] = stateOf(pod)
	}
	h.states = append(h.states, now)
}

// until returns all states, once the last one has n pods, each of the image and available.
func (h *history) until(t *testing.T, n int, image string) []map[string]state {
	t.Helper()
	var all []map[string]state
	await(t, "the watch has seen everything", func(context.Context) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		last := h.states[len(h.states)-1]
		for _, s := range last {
			if !s.available || s.image != image {
				return fmt.Errorf("%v", last)
			}
		}
		if len(last) != n {
			return errors.New("other pods are there")
		}
		all = slices.Clone(h.states)
		return nil
	})
	return all
}

// bounds are the fewest pods that were available at once, and the most that were there.
func bounds(states []map[string]state) (fewest, most int) {
	fewest = len(states[0])
	for _, s := range states {
		n := 0
		for _, pod := range s {
			if pod.available {
				n++
			}
		}
		fewest, most = min(fewest, n), max(most, len(s))
	}
	return fewest, most
}

// order is the names of the pods, in the order in which they were told to go.
func order(states []map[string]state) []string {
	var names []string
	for _, s := range states {
		for _, name := range slices.Sorted(maps.Keys(s)) {
			if s[name].going && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
