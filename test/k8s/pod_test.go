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

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A world is what pods find outside of themselves.
type world struct {
	manifest *manifest
	secret   map[string]string // the Secret that the operator makes
	names    map[string]string // what the manifests name, and where that is here
	env      []string          // what an image or a cluster has, and this machine has not
}

// A pod is one of a manifest's, as a kubelet runs it.
type pod struct {
	*harness.Node
	name  string
	world *world
	dir   string
	ports map[int]string // where each of the container's is here
}

// newPod makes the directories of a pod and maps its command line. It starts
// nothing.
func newPod(t *testing.T, w *world, name string) *pod {
	t.Helper()
	p := &pod{name: name, world: w, dir: t.TempDir(), ports: map[int]string{}}
	c := w.manifest.container()
	addrs := harness.FreeAddrs(t, len(c.Ports))
	for i, port := range c.Ports {
		p.ports[port.Port] = addrs[i]
		w.names[fmt.Sprintf("%s.%s-peers:%d", name, w.manifest.name, port.Port)] = addrs[i]
	}
	return p
}

// create fills the pod's volumes and has its container ready to start. A pod
// that is created again has its claims still, and nothing else.
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
		t.Fatalf("%s is taken from %s", v.Name, v.From.Field.Path)
	}
	return p.here(v.Value)
}

func (p *pod) key(t *testing.T, name string) string {
	t.Helper()
	s, ok := p.world.secret[name]
	if !ok {
		t.Fatalf("the documents speak of no key %q in the Secret", name)
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// at is where a path of the container is here.
func (p *pod) at(path string) string { return filepath.Join(p.dir, path) }

// here is a text of the container's in the words of this machine: where its
// paths and addresses are.
func (p *pod) here(text string) string {
	const before, behind = `(^|[\s="'])`, `($|[/\s"',])`
	var paths []string
	for _, m := range p.world.manifest.container().Mounts {
		paths = append(paths, regexp.QuoteMeta(m.Path))
	}
	mounted := regexp.MustCompile(before + `(` + strings.Join(paths, "|") + `)` + behind)
	text = mounted.ReplaceAllString(text, "${1}"+p.dir+"${2}${3}") // at once: what is mapped may look like a path, too
	for port, addr := range p.ports {
		own := fmt.Sprintf(`%s(?:0\.0\.0\.0)?:%d%s`, before, port, behind)
		text = regexp.MustCompile(own).ReplaceAllString(text, "${1}"+addr+"${2}")
	}
	for name, is := range p.world.names {
		text = strings.ReplaceAll(text, name, is)
	}
	return text
}

// awaitProbes returns once the pod is what its probes call ready and alive.
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

// port is where the container's port of that name is here.
func (p *pod) port(t *testing.T, name string) string {
	t.Helper()
	for _, port := range p.world.manifest.container().Ports {
		if port.Name == name {
			return p.ports[port.Port]
		}
	}
	t.Fatalf("there is no port %q", name)
	return ""
}

// client speaks to the pod by the port that the Service points to.
func (p *pod) client(t *testing.T) *api.Client {
	t.Helper()
	return api.ClientOf([]string{"http://" + p.port(t, "http")}, p.Token)
}

// startPods creates and starts as many pods as the manifest asks for, all at
// once, and returns when all are ready.
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
