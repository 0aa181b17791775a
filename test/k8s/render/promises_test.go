package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// each runs a test of every overlay.
func each(t *testing.T, test func(t *testing.T, o *overlay)) {
	for _, name := range overlays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, sort(t, objects(t, name)))
		})
	}
}

// The strictest of the levels that a namespace can ask for.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, o *overlay) {
		level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
		for _, found := range judge.EvaluatePod(level, &o.pod.ObjectMeta, &o.pod.Spec) {
			if !found.Allowed {
				t.Errorf("%s: %s", found.ForbiddenReason, found.ForbiddenDetail)
			}
		}
		c := o.node(t)
		if root := c.SecurityContext.ReadOnlyRootFilesystem; root == nil || !*root {
			t.Error("the root file system can be written")
		}
		if !strings.Contains(c.Image, ":") || strings.HasSuffix(c.Image, ":latest") {
			t.Errorf("which %s that is changes by itself", c.Image)
		}
		if token := o.pod.Spec.AutomountServiceAccountToken; token == nil || *token {
			t.Error("the pod has a token of Kubernetes that it does not need")
		}
	})
}

// What one object names, another one has.
func TestReferencesExist(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		pod := labels.Set(o.pod.Labels)
		matches := func(what string, s *metav1.LabelSelector) {
			sel, err := metav1.LabelSelectorAsSelector(s)
			if err != nil {
				t.Fatal(err)
			}
			if sel.Empty() || !sel.Matches(pod) {
				t.Errorf("%s selects %v, which the pods %v are not", what, sel, pod)
			}
		}
		matches("the workload", o.selector)
		matches("the disruption budget", o.budget.Spec.Selector)
		matches("the network policy", &o.network.Spec.PodSelector)
		ports := map[string]bool{}
		for _, p := range o.node(t).Ports {
			ports[p.Name] = true
		}
		for name, s := range o.services {
			matches("service "+name, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
			for _, p := range s.Spec.Ports {
				if !ports[p.TargetPort.StrVal] {
					t.Errorf("service %s: there is no port %q", name, p.TargetPort.String())
				}
			}
		}
		for _, in := range o.network.Spec.Ingress {
			for _, p := range in.Ports {
				if !ports[p.Port.StrVal] {
					t.Errorf("the network policy speaks of port %q", p.Port.String())
				}
			}
		}
		if o.set != nil && o.services[o.set.Spec.ServiceName] == nil {
			t.Errorf("the pods' names are in service %s, which is not there", o.set.Spec.ServiceName)
		}
		if !o.accounts[o.pod.Spec.ServiceAccountName] {
			t.Errorf("there is no account %s", o.pod.Spec.ServiceAccountName)
		}
		for _, m := range o.node(t).VolumeMounts {
			if !slices.Contains(o.volumes(), m.Name) {
				t.Errorf("%s mounts volume %q, which is not there", m.MountPath, m.Name)
			}
		}
		for _, v := range o.pod.Spec.Volumes {
			if v.ConfigMap != nil && o.configs[v.ConfigMap.Name] == nil {
				t.Errorf("there is no config map %s", v.ConfigMap.Name)
			}
		}
	})
}

// Secrets are in one Secret that the operator makes, and nowhere else.
func TestSecretsAreByReference(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		for _, e := range o.node(t).Env {
			secret := strings.Contains(e.Name, "TOKEN") || strings.Contains(e.Name, "SECRET") || strings.Contains(e.Name, "KEY")
			if secret && (e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil || e.ValueFrom.SecretKeyRef.Name != "sesslog") {
				t.Errorf("%s is not taken from the Secret", e.Name)
			}
		}
		for name, c := range o.configs {
			for _, word := range []string{"secret", "token", "_key"} {
				if strings.Contains(c.Data["sessnode.yaml"], word) {
					t.Errorf("config map %s speaks of %q", name, word)
				}
			}
		}
	})
}

// drainTime is how long a node lets requests finish, as docs/OPERATIONS.md has
// it, and closeTime more than what it needs besides.
const (
	drainTime = 10 * time.Second
	closeTime = 20 * time.Second
)

func TestNodeCanStopWithinItsGracePeriod(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		grace := time.Duration(*o.pod.Spec.TerminationGracePeriodSeconds) * time.Second
		before := time.Duration(o.node(t).Lifecycle.PreStop.Sleep.Seconds) * time.Second
		if before <= 0 || before+drainTime+closeTime > grace {
			t.Errorf("%v before SIGTERM, and then %v and %v; it is killed after %v", before, drainTime, closeTime, grace)
		}
	})
}

func TestProbesUseTheirEndpoints(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		c := o.node(t)
		for _, p := range []struct {
			what  string
			probe *corev1.Probe
			path  string
		}{
			{"startup", c.StartupProbe, "/readyz"},
			{"readiness", c.ReadinessProbe, "/readyz"},
			{"liveness", c.LivenessProbe, "/healthz"},
		} {
			if p.probe == nil || p.probe.HTTPGet == nil || p.probe.HTTPGet.Path != p.path || p.probe.HTTPGet.Port.StrVal != "http" {
				t.Errorf("%s: %v", p.what, p.probe)
				continue
			}
			// The server itself looks for 3 seconds, and then says why not.
			if p.probe.TimeoutSeconds <= 3 {
				t.Errorf("%s: gives up before the answer comes", p.what)
			}
		}
		// An election takes up to ten seconds.
		if r := c.ReadinessProbe; r.PeriodSeconds*(r.FailureThreshold-1) < 10 {
			t.Error("an election takes nodes out of the Service")
		}
	})
}

func TestMemoryLimitOfGoMatchesThePod(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		c := o.node(t)
		i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
		if i < 0 {
			t.Fatal("GOMEMLIMIT is not set")
		}
		soft := resource.MustParse(strings.TrimSuffix(c.Env[i].Value, "B"))
		hard := c.Resources.Limits[corev1.ResourceMemory]
		if part := float64(soft.Value()) / float64(hard.Value()); part < 0.8 || part > 0.95 {
			t.Errorf("GOMEMLIMIT is %s of %s", soft.String(), hard.String())
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if q := c.Resources.Requests[name]; q.IsZero() {
				t.Errorf("no %s is requested", name)
			}
		}
	})
}

// However pods are evicted, a cluster keeps its majority; and no drain waits
// for ever.
func TestDisruptionBudgetAllowsOneNode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *overlay) {
		if may := o.budget.Spec.MaxUnavailable; may == nil || *may != intstr.FromInt32(1) {
			t.Errorf("%v may be away", may)
		}
	})
}

func TestClusterNodesFindEachOther(t *testing.T) {
	t.Parallel()
	o := sort(t, objects(t, "cluster"))
	var conf struct {
		Cluster struct {
			Listen string
			Routes []string
		}
	}
	for _, c := range o.configs {
		if err := yaml.Unmarshal([]byte(c.Data["sessnode.yaml"]), &conf); err != nil {
			t.Fatal(err)
		}
	}
	peers := o.services[o.set.Spec.ServiceName]
	var want []string
	for i := range *o.set.Spec.Replicas {
		want = append(want, fmt.Sprintf("%s-%d.%s:%d", o.set.Name, i, peers.Name, peers.Spec.Ports[0].Port))
	}
	if !slices.Equal(conf.Cluster.Routes, want) {
		t.Errorf("routes %v, and the pods are %v", conf.Cluster.Routes, want)
	}
	if !peers.Spec.PublishNotReadyAddresses || peers.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Error("nodes that are not ready cannot find each other")
	}
	if o.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		t.Error("the first node waits for ever: it is ready when all are up")
	}
	if len(o.pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 0 {
		t.Error("two nodes may be on one machine")
	}
	if s := o.pod.Spec.TopologySpreadConstraints; len(s) != 1 || s[0].TopologyKey != corev1.LabelTopologyZone {
		t.Errorf("spread over zones: %v", s)
	}
}

// An overlay is what one renders to, by kind.
type overlay struct {
	set        *appsv1.StatefulSet // or
	deployment *appsv1.Deployment
	pod        corev1.PodTemplateSpec
	selector   *metav1.LabelSelector
	budget     *policyv1.PodDisruptionBudget
	network    *networkingv1.NetworkPolicy
	services   map[string]*corev1.Service
	configs    map[string]*corev1.ConfigMap
	accounts   map[string]bool
}

func sort(t *testing.T, all []any) *overlay {
	t.Helper()
	o := &overlay{services: map[string]*corev1.Service{}, configs: map[string]*corev1.ConfigMap{}, accounts: map[string]bool{}}
	for _, x := range all {
		switch x := x.(type) {
		case *appsv1.StatefulSet:
			o.set, o.pod, o.selector = x, x.Spec.Template, x.Spec.Selector
		case *appsv1.Deployment:
			o.deployment, o.pod, o.selector = x, x.Spec.Template, x.Spec.Selector
		case *policyv1.PodDisruptionBudget:
			o.budget = x
		case *networkingv1.NetworkPolicy:
			o.network = x
		case *corev1.Service:
			o.services[x.Name] = x
		case *corev1.ConfigMap:
			o.configs[x.Name] = x
		case *corev1.ServiceAccount:
			o.accounts[x.Name] = true
		default:
			t.Errorf("%T is not expected", x)
		}
	}
	if (o.set == nil) == (o.deployment == nil) || o.budget == nil || o.network == nil || len(o.configs) != 1 {
		t.Fatalf("not everything is there: %+v", o)
	}
	return o
}

// node is the one container.
func (o *overlay) node(t *testing.T) corev1.Container {
	t.Helper()
	if len(o.pod.Spec.Containers) != 1 || len(o.pod.Spec.InitContainers) != 0 {
		t.Fatal("a pod has one container")
	}
	return o.pod.Spec.Containers[0]
}

func (o *overlay) volumes() []string {
	var names []string
	for _, v := range o.pod.Spec.Volumes {
		names = append(names, v.Name)
	}
	if o.set != nil {
		for _, v := range o.set.Spec.VolumeClaimTemplates {
			names = append(names, v.Name)
		}
	}
	return names
}
