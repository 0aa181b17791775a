package render_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var update = flag.Bool("update", false, "write the files in deploy/k8s/rendered")

const deploy = "../../../deploy/k8s"

// overlays are the three ways to run.
var overlays = []string{"single", "cluster", "external"}

func TestRenderedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	for _, name := range overlays {
		got := render(t, name)
		path := filepath.Join(deploy, "rendered", name+".yaml")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what deploy/k8s/%s renders to; write it with: go -C test/k8s/render test . -update", path, name)
		}
	}
}

// A strict decoder refuses members that a kind does not have, members that are
// there twice, wrong types, and versions that are gone.
func TestDecoderRejectsUnknownFields(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selectr: {a: b}}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: http}]}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a, name: b}",
		"apiVersion: policy/v1beta1\nkind: Gone\nmetadata: {name: a}",
	} {
		if _, err := decode([]byte(bad)); err == nil {
			t.Errorf("this was decoded:\n%s", bad)
		}
	}
}

var renders = map[string]func() ([]byte, error){
	"single":   sync.OnceValues(func() ([]byte, error) { return run("single") }),
	"cluster":  sync.OnceValues(func() ([]byte, error) { return run("cluster") }),
	"external": sync.OnceValues(func() ([]byte, error) { return run("external") }),
}

func render(t *testing.T, name string) []byte {
	t.Helper()
	out, err := renders[name]()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run renders an overlay in the order in which it can be applied.
func run(name string) ([]byte, error) {
	opts := krusty.MakeDefaultOptions()
	opts.Reorder = krusty.ReorderOptionLegacy
	resources, err := krusty.MakeKustomizer(opts).Run(filesys.MakeFsOnDisk(), filepath.Join(deploy, name))
	if err != nil {
		return nil, fmt.Errorf("deploy/k8s/%s: %w", name, err)
	}
	return resources.AsYaml()
}

// objects are what an overlay renders to, strictly decoded.
func objects(t *testing.T, name string) []any {
	t.Helper()
	var out []any
	for doc := range bytes.SplitSeq(render(t, name), []byte("\n---\n")) {
		o, err := decode(doc)
		if err != nil {
			t.Fatalf("%s: %v in:\n%s", name, err, doc)
		}
		out = append(out, o)
	}
	return out
}

// kinds are those that manifests here may have.
var kinds = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

func decode(doc []byte) (any, error) {
	strict := serializer.NewCodecFactory(kinds, serializer.EnableStrict).UniversalDeserializer()
	o, _, err := strict.Decode(doc, nil, nil)
	return o, err
}
