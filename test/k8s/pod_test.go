package k8s_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A world is the environment of pods.
type world struct {
	manifest *manifest
	secret   map[string]string // the Secret that the operator creates
	names    map[string]string // addresses in the manifests, and their local replacements
	env      []string          // variables in place of files that only the image has
}

// A pod is a pod of a manifest, run as by a kubelet.
type pod struct {
	*harness.Node
	name  string
	world *world
	dir   string
	ports map[int]string // the local address of each container port
}

// newPod returns a pod with a directory and local addresses. It starts nothing.
func newPod(t *testing.T, w *world, name string) *pod {
	t.Helper()
	p := &pod{name: name, world: w, dir: t.TempDir(), ports: map[int]string{}}
	c := w.manifest.container()
	addrs := testkit.FreeAddrs(t, len(c.Ports))
	for i, port := range c.Ports {
		p.ports[port.Port] = addrs[i]
		w.names[fmt.Sprintf("%s.%s-peers:%d", name, w.manifest.name, port.Port)] = addrs[i]
	}
	return p
}

// create fills the pod's volumes and prepares its container. A pod that is created
// again keeps only its claimed volumes.
func (p *pod) create(t *testing.T) {
	t.Helper()
	c := p.world.manifest.container()
	for _, m := range c.Mounts {
		p.mount(t, p.world.manifest.volume(m.Name), p.at(m.Path))
	}
	var args []string
	for _, arg := range c.Args {
		args = append(args, p.here(arg))
	}
	env := append(slices.Clone(p.world.env), "TMPDIR="+p.at("/tmp"))
	for _, v := range c.Env {
		env = append(env, v.Name+"="+p.value(t, v))
	}
	p.Node = harness.NewNodeExactly(t, args, env)
	p.Node.Token = p.world.secret["token"]
}

func (p *pod) value(t *testing.T, v variable) string {
	t.Helper()
	switch {
	case v.From.Field.Path == "metadata.name":
		return p.name
	case v.From.Secret.Key != "":
		return p.key(t, v.From.Secret.Key)
	case v.From.Field.Path != "":
		t.Fatalf("%s has the unknown source %s", v.Name, v.From.Field.Path)
	}
	return p.here(v.Value)
}

func (p *pod) key(t *testing.T, name string) string {
	t.Helper()
	s, ok := p.world.secret[name]
	if !ok {
		t.Fatalf("the Secret of the documents has no key %q", name)
	}
	return s
}

func (p *pod) mount(t *testing.T, v volume, dir string) {
	t.Helper()
	if v.Empty != nil {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	if v.ConfigMap != nil {
		for name, text := range p.world.manifest.configs[v.ConfigMap.Name] {
			files[name] = p.here(text)
		}
	}
	if v.Secret != nil {
		for _, item := range v.Secret.Items {
			files[item.Path] = p.key(t, item.Key)
		}
	}
	for name, text := range files {
		testkit.WriteFile(t, filepath.Join(dir, name), []byte(text))
	}
}

// at returns the local path of a path of the container.
func (p *pod) at(path string) string { return filepath.Join(p.dir, path) }

// here replaces the paths and addresses in a text of the container by local ones.
func (p *pod) here(text string) string {
	const before, after = `(^|[\s="'])`, `($|[/\s"',])`
	var paths []string
	for _, m := range p.world.manifest.container().Mounts {
		paths = append(paths, regexp.QuoteMeta(m.Path))
	}
	mounted := regexp.MustCompile(before + `(` + strings.Join(paths, "|") + `)` + after)
	text = mounted.ReplaceAllString(text, "${1}"+p.dir+"${2}${3}") // all at once: a replacement may look like a path of the container
	for port, addr := range p.ports {
		own := fmt.Sprintf(`%s(?:0\.0\.0\.0)?:%d%s`, before, port, after)
		text = regexp.MustCompile(own).ReplaceAllString(text, "${1}"+addr+"${2}")
	}
	for name, is := range p.world.names {
		text = strings.ReplaceAll(text, name, is)
	}
	return text
}

// awaitProbes waits until all probes of the pod succeed.
func (p *pod) awaitProbes(t *testing.T) {
	t.Helper()
	p.AwaitReady(t)
	c := p.world.manifest.container()
	for what, probe := range map[string]probe{"startup": c.Startup, "readiness": c.Readiness, "liveness": c.Liveness} {
		url := "http://" + p.port(t, probe.HTTP.Port) + probe.HTTP.Path
		harness.Await(t, p.name+": "+what, func() error {
			r, err := http.Get(url)
			if err != nil {
				return err
			}
			defer r.Body.Close()
			if r.StatusCode != http.StatusOK {
				return fmt.Errorf("%s answers %s", url, r.Status)
			}
			return nil
		})
	}
}

// port returns the local address of the container port of that name.
func (p *pod) port(t *testing.T, name string) string {
	t.Helper()
	for _, port := range p.world.manifest.container().Ports {
		if port.Name == name {
			return p.ports[port.Port]
		}
	}
	t.Fatalf("no port %q", name)
	return ""
}

// client returns a client for the pod's port behind the Service.
func (p *pod) client(t *testing.T) *client.Client {
	t.Helper()
	return client.ClientOf([]string{"http://" + p.port(t, "http")}, p.Token)
}

// startPods creates and starts the pods of the manifest concurrently, and returns
// when all are ready.
func startPods(t *testing.T, w *world) []*pod {
	t.Helper()
	var pods []*pod
	for i := range w.manifest.replicas {
		pods = append(pods, newPod(t, w, fmt.Sprintf("%s-%d", w.manifest.name, i)))
	}
	for _, p := range pods {
		p.create(t)
		p.Launch(t)
	}
	for _, p := range pods {
		p.awaitProbes(t)
	}
	return pods
}
