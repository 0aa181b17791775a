package k8s_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sesslog/sesslog/internal/testkit"
)

// A manifest is the part of an overlay that this package uses. test/k8s/render
// checks that an overlay is complete.
type manifest struct {
	name     string // of the workload
	replicas int
	minReady int // seconds that a pod must be ready before the next one is replaced
	pod      podSpec
	configs  map[string]map[string]string
}

type podSpec struct {
	Grace      int64 `yaml:"terminationGracePeriodSeconds"`
	Containers []container
	Volumes    []volume
}

type container struct {
	Args  []string
	Env   []variable
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Startup   probe `yaml:"startupProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Liveness  probe `yaml:"livenessProbe"`
	Lifecycle struct {
		PreStop struct{ Sleep struct{ Seconds int64 } } `yaml:"preStop"`
	}
	Mounts []struct {
		Name string
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type variable struct {
	Name, Value string
	From        struct {
		Field struct {
			Path string `yaml:"fieldPath"`
		} `yaml:"fieldRef"`
		Secret struct{ Key string } `yaml:"secretKeyRef"`
	} `yaml:"valueFrom"`
}

type volume struct {
	Name      string
	ConfigMap *struct{ Name string } `yaml:"configMap"`
	Secret    *struct {
		Items []struct{ Key, Path string }
	}
	Empty *struct{} `yaml:"emptyDir"`
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
}

func readManifest(t *testing.T, overlay string) *manifest {
	t.Helper()
	b := testkit.ReadFile(t, "../../deploy/k8s/rendered/"+overlay+".yaml")
	m := &manifest{configs: map[string]map[string]string{}}
	for d := yaml.NewDecoder(bytes.NewReader(b)); ; {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Data     map[string]string
			Spec     yaml.Node
		}
		if err := d.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch object.Kind {
		case "ConfigMap":
			m.configs[object.Metadata.Name] = object.Data
		case "StatefulSet", "Deployment":
			var spec struct {
				Replicas int
				MinReady int `yaml:"minReadySeconds"`
				Template struct{ Spec podSpec }
			}
			if err := object.Spec.Decode(&spec); err != nil {
				t.Fatal(err)
			}
			m.name = object.Metadata.Name
			m.replicas, m.minReady, m.pod = spec.Replicas, spec.MinReady, spec.Template.Spec
		}
	}
	if len(m.pod.Containers) != 1 {
		t.Fatalf("%s: %d containers", overlay, len(m.pod.Containers))
	}
	return m
}

func (m *manifest) container() container { return m.pod.Containers[0] }

// grace is the termination grace period of a pod.
func (m *manifest) grace() time.Duration { return time.Duration(m.pod.Grace) * time.Second }

// preStop is the time that a terminating pod keeps running before SIGTERM.
func (m *manifest) preStop() time.Duration {
	return time.Duration(m.container().Lifecycle.PreStop.Sleep.Seconds) * time.Second
}

// volume returns the pod's volume of that name. A claimed volume has no source.
func (m *manifest) volume(name string) volume {
	for _, v := range m.pod.Volumes {
		if v.Name == name {
			return v
		}
	}
	return volume{Name: name}
}
