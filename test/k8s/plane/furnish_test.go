package plane_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const namespace = "sesslog"

// zones have the nodes ZONE-1 and ZONE-2 each, and two volumes.
var zones = []string{"east", "north", "west"}

var create = metav1.CreateOptions{}

// furnish makes what a cluster has before anything is applied to it: nodes,
// volumes, and the namespace as deploy/k8s/README.md has it made.
func (p *plane) furnish(t *testing.T) {
	t.Helper()
	for _, zone := range zones {
		for _, n := range []string{"-1", "-2"} {
			p.makeNode(t, zone, zone+n)
			p.makeVolume(t, zone, "volume-"+zone+n)
		}
	}
	class := &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: "zonal", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner:       "kubernetes.io/no-provisioner",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	if _, err := p.StorageV1().StorageClasses().Create(t.Context(), class, create); err != nil {
		t.Fatal(err)
	}
	// Enforced for pods; warned of for what makes pods.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
		"pod-security.kubernetes.io/warn":    "restricted",
	}}}
	if _, err := p.CoreV1().Namespaces().Create(t.Context(), ns, create); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sesslog"}, StringData: map[string]string{}}
	for _, key := range []string{"token", "cluster-secret", "s3-access-key", "s3-secret-key", "nats.creds"} {
		secret.StringData[key] = "of a test"
	}
	if _, err := p.CoreV1().Secrets(namespace).Create(t.Context(), secret, create); err != nil {
		t.Fatal(err)
	}
}

func (p *plane) makeNode(t *testing.T, zone, name string) {
	t.Helper()
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelTopologyZone: zone, corev1.LabelHostname: name,
			corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	if _, err := p.CoreV1().Nodes().Create(t.Context(), node, create); err != nil {
		t.Fatal(err)
	}
}

// makeVolume makes one that can be mounted in its zone only, as most can.
func (p *plane) makeVolume(t *testing.T, zone, name string) {
	t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              "zonal",
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/" + name}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
				}},
			}}}},
		},
	}
	if _, err := p.CoreV1().PersistentVolumes().Create(t.Context(), volume, create); err != nil {
		t.Fatal(err)
	}
}
