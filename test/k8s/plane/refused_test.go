package plane_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The server must reject invalid manifests, or accepting the real ones shows
// nothing.
func TestServerRejectsInvalidManifests(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	text := manifest(t, "cluster")
	p.mustApply(t, text, dryRun)
	for _, wrong := range []struct{ what, from, to, says string }{
		{"a field that is not there", "podManagementPolicy: Parallel", "podManagmentPolicy: Parallel", "podManagmentPolicy"},
		{"a field of another type", "replicas: 3", "replicas: three", "replicas"},
		{"a volume that is not there", "mountPath: /tmp\n          name: tmp", "mountPath: /tmp\n          name: temp", "volumeMounts"},
		{"a port out of range", "port: 443", "port: 70443", "spec.egress"},
		{"a budget of two kinds", "maxUnavailable: 1", "maxUnavailable: 1\n  minAvailable: 1", "cannot be both set"},
		{"a key of a Secret without a name", "key: cluster-secret", "key: \"\"", "secretKeyRef"},
		{"a constraint that means nothing", "whenUnsatisfiable: DoNotSchedule", "whenUnsatisfiable: Never", "whenUnsatisfiable"},
		{"a version that is gone", "apiVersion: policy/v1", "apiVersion: policy/v1beta1", "PodDisruptionBudget"},
	} {
		_, err := p.apply(t.Context(), replaceOnce(t, text, wrong.from, wrong.to), dryRun)
		if err == nil || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%s: %v", wrong.what, err)
		}
	}
}

// The namespace admits only restricted pods: those of the manifests, but not the
// same ones with one more privilege.
func TestNamespaceAdmitsOnlyRestrictedPods(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	for _, overlay := range []string{"single", "cluster", "external"} {
		text := manifest(t, overlay)
		p.mustApply(t, text, dryRun)
		for _, more := range []struct{ from, to string }{
			{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"},
			{"runAsNonRoot: true", "runAsNonRoot: false"},
			{"drop:\n            - ALL", "drop: []"},
			{"type: RuntimeDefault", "type: Unconfined"},
		} {
			if _, err := p.apply(t.Context(), replaceOnce(t, text, more.from, more.to), dryRun); err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(p.warnings.taken(), "\n"); !strings.Contains(said, "restricted") {
				t.Errorf("%s: no word of %s: %q", overlay, more.to, said)
			}
		}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "free"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "free", Image: "free"}}},
	}
	// Until the controllers have made the namespace's account, that is what it lacks.
	await(t, "a pod is refused for what it may do", func(ctx context.Context) error {
		_, err := p.CoreV1().Pods(namespace).Create(ctx, pod, create)
		if err == nil {
			t.Fatal("a pod that is not restricted is let in")
		}
		if !strings.Contains(err.Error(), "restricted") {
			return err
		}
		return nil
	})
}
