package plane_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// holdsTogether resolves the references of the live objects: Secret, config map,
// claims, ports. A kubelet does so, and kwok does not.
func (p *plane) holdsTogether(t *testing.T) {
	t.Helper()
	pods := p.pods(t.Context(), t)
	for i := range pods {
		p.findsWhatItNames(t, &pods[i])
	}
	p.guardsEveryPod(t, pods)
	p.serves(t, "sessnode", "http", pods)
}

// findsWhatItNames looks up what a kubelet needs before it starts the pod.
func (p *plane) findsWhatItNames(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	secret := func(name, key string, optional *bool) {
		s, err := p.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(s.Data[key]) == 0 || optional != nil && *optional {
			t.Errorf("%s: key %s of Secret %s: %v", pod.Name, key, name, err)
		}
	}
	for _, e := range pod.Spec.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			ref := e.ValueFrom.SecretKeyRef
			secret(ref.Name, ref.Key, ref.Optional)
		}
	}
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.Secret != nil:
			for _, item := range v.Secret.Items {
				secret(v.Secret.SecretName, item.Key, v.Secret.Optional)
			}
		case v.ConfigMap != nil:
			c, err := p.CoreV1().ConfigMaps(namespace).Get(t.Context(), v.ConfigMap.Name, metav1.GetOptions{})
			if err != nil || c.Data["sessnode.yaml"] == "" {
				t.Errorf("%s: config map %s: %v", pod.Name, v.ConfigMap.Name, err)
			}
		case v.PersistentVolumeClaim != nil:
			p.boundIn(t, zoneOf(pod), v.PersistentVolumeClaim.ClaimName)
		}
	}
}

// boundIn returns a claim, which is bound to a volume of the zone.
func (p *plane) boundIn(t *testing.T, zone, name string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := p.claim(t, name)
	if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName != "volume-"+zone+"-1" && claim.Spec.VolumeName != "volume-"+zone+"-2" {
		t.Errorf("claim %s is %s, volume %q; its pod is in zone %s", name, claim.Status.Phase, claim.Spec.VolumeName, zone)
	}
	return claim
}

func (p *plane) claim(t *testing.T, name string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim, err := p.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// guardsEveryPod finds the network policy to be about these pods, both ways, and
// of ports that they have.
func (p *plane) guardsEveryPod(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	policy, err := p.NetworkingV1().NetworkPolicies(namespace).Get(t.Context(), "sessnode", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selector := metav1.FormatLabelSelector(&policy.Spec.PodSelector)
	list, err := p.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(pods) || len(policy.Spec.PolicyTypes) != 2 {
		t.Errorf("the network policy is about %d pods of %d, %v", len(list.Items), len(pods), policy.Spec.PolicyTypes)
	}
	for _, in := range policy.Spec.Ingress {
		for _, port := range in.Ports {
			if !slices.ContainsFunc(pods[0].Spec.Containers[0].Ports, func(c corev1.ContainerPort) bool { return c.Name == port.Port.StrVal }) {
				t.Errorf("the network policy lets in port %s, which no pod has", port.Port)
			}
		}
	}
}

// serves waits until exactly these pods are ready in a Service.
func (p *plane) serves(t *testing.T, service, port string, pods []corev1.Pod) {
	t.Helper()
	var want []string
	for _, pod := range pods {
		want = append(want, pod.Name)
	}
	slices.Sort(want)
	await(t, fmt.Sprintf("Service %s leads to %v", service, want), func(ctx context.Context) error {
		found, err := p.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
		if err != nil {
			return err
		}
		var got []string
		for _, s := range found.Items {
			if len(s.Ports) != 1 || *s.Ports[0].Name != port {
				return fmt.Errorf("ports %v", s.Ports)
			}
			for _, e := range s.Endpoints {
				if *e.Conditions.Ready {
					got = append(got, e.TargetRef.Name)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("it leads to %v", got)
		}
		return nil
	})
}
