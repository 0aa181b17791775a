package plane_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

var long = flag.Bool("long", false, "build Kubernetes, where it is not there yet, and run the manifests on it")

// A plane is a Kubernetes of a test's own, with nodes in three zones.
type plane struct {
	*kubernetes.Clientset
	any      dynamic.Interface
	kinds    meta.RESTMapper
	warnings *warnings
}

// newPlane starts one. Every process of it ends with the test.
func newPlane(t *testing.T) *plane {
	t.Helper()
	if !*long {
		t.Skip("skipped: -long is not given. With it, Kubernetes is built, which takes ten minutes the first time: make e2e-k8s")
	}
	dir := t.TempDir()
	kubeconfig := startServer(t, dir, startEtcd(t, dir))
	p := connect(t, kubeconfig)
	launch(t, dir, "kube-controller-manager", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file="+filepath.Join(dir, "accounts.pem"),
		// A machine that is busy is no reason to give up a node.
		"--node-monitor-grace-period=10m")
	launch(t, dir, "kube-scheduler", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0")
	stages, err := filepath.Abs("testdata/stages.yaml")
	if err != nil {
		t.Fatal(err)
	}
	launch(t, dir, "kwok", "--kubeconfig="+kubeconfig, "--config="+stages, "--manage-all-nodes=true")
	p.furnish(t)
	return p
}

// startEtcd returns where it is. Its flushes are left out: nothing outlives the test.
func startEtcd(t *testing.T, dir string) (url string) {
	t.Helper()
	port := listening(t, func(port string) *process {
		at := "http://127.0.0.1:" + port
		return launch(t, dir, "etcd", "--data-dir="+filepath.Join(dir, "etcd-"+port), "--unsafe-no-fsync",
			"--listen-client-urls="+at, "--advertise-client-urls="+at, "--listen-peer-urls=http://127.0.0.1:0")
	}, func(ctx context.Context, port string) error {
		return get(ctx, "http://127.0.0.1:"+port+"/health")
	})
	return "http://127.0.0.1:" + port
}

// startServer returns the file that says where it is, and has a token that may
// do everything.
func startServer(t *testing.T, dir, etcd string) (kubeconfig string) {
	t.Helper()
	file := func(name string) string { return filepath.Join(dir, name) }
	token := rand.Text()
	write(t, file("tokens.csv"), []byte(token+`,admin,admin,"system:masters"`+"\n"))
	write(t, file("accounts.pem"), newKey(t))
	listening(t, func(port string) *process {
		write(t, file("kubeconfig"), newKubeconfig(t, port, token, file("apiserver.crt")))
		return launch(t, dir, "kube-apiserver", "--etcd-servers="+etcd, "--bind-address=127.0.0.1", "--secure-port="+port,
			"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
			"--cert-dir="+dir, "--token-auth-file="+file("tokens.csv"), "--authorization-mode=RBAC",
			"--service-cluster-ip-range=10.96.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file="+file("accounts.pem"), "--service-account-signing-key-file="+file("accounts.pem"))
	}, func(ctx context.Context, _ string) error {
		c, err := newConfig(file("kubeconfig"))
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(c) // reads the certificate, which the server has made
		if err != nil {
			return err
		}
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	return file("kubeconfig")
}

func connect(t *testing.T, kubeconfig string) *plane {
	t.Helper()
	c, err := newConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{warnings: &warnings{}}
	c.WarningHandler = p.warnings
	if p.Clientset, err = kubernetes.NewForConfig(c); err != nil {
		t.Fatal(err)
	}
	if p.any, err = dynamic.NewForConfig(c); err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(p.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	p.kinds = restmapper.NewDiscoveryRESTMapper(groups)
	return p
}

// newConfig is for a client that waits for nothing but the server.
func newConfig(kubeconfig string) (*rest.Config, error) {
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	c.QPS = -1
	return c, nil
}

func newKubeconfig(t *testing.T, port, token, ca string) []byte {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["test"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:" + port, CertificateAuthority: ca}
	c.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	c.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "admin"}
	c.CurrentContext = "test"
	b, err := clientcmd.Write(*c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// newKey is what tokens of accounts are signed with.
func newKey(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// warnings are what the server says of requests that it grants all the same.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader is called by the client for each.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// taken returns what was said since the last call.
func (w *warnings) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := slices.Clone(w.said)
	w.said = nil
	return said
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}
