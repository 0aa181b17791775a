package e2e_test

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/pki"
)

// TestClusterWithTLS uses certificates for the API, for its clients,
// and for the links between nodes.
func TestClusterWithTLS(t *testing.T) {
	t.Parallel()
	ours, others := pki.New(t, "ours"), pki.New(t, "others")
	node, agent, stranger := ours.Pair(t, "node"), ours.Pair(t, "agent-1"), others.Pair(t, "agent-1")
	nodes := harness.NewCluster(t, 3, harness.StartBucket(t),
		"--tls-cert", node.Cert, "--tls-key", node.Key, "--tls-client-ca", ours.File, "--tls-subjects", "agent-*=write",
		"--cluster-cert", node.Cert, "--cluster-key", node.Key, "--cluster-ca", ours.File, "SESS_CLUSTER_SECRET=a-secret-of-the-test")
	for _, n := range nodes {
		n.TLS = ours.Client(t, agent)
	}
	harness.StartAll(t, nodes)
	file := harness.NewFile(t, harness.Shape{Turns: 3})
	host := harness.NewHost(t, nodes[0])
	if r := host.Sessctl(t, "ls"); r.Code == 0 || !strings.Contains(r.Err, "certificate") {
		t.Errorf("sessctl without the CA: %s", r)
	}
	host.Env = []string{"SESS_CA=" + ours.File}
	if r := host.Sessctl(t, "ls"); r.Code == 0 || !strings.Contains(r.Err, "certificate") {
		t.Errorf("sessctl without a certificate: %s", r)
	}
	if r := host.Sessctl(t, "ls", "--client-cert", stranger.Cert, "--client-key", stranger.Key); r.Code == 0 {
		t.Errorf("sessctl with a certificate of another CA: %s", r)
	}
	host.Env = append(host.Env, "SESS_CLIENT_CERT="+agent.Cert, "SESS_CLIENT_KEY="+agent.Key)
	host.Do(t, "import", file.Save(t, host.Dir))
	for _, n := range nodes {
		sameBytes(t, "export", harness.Export(t, n.Client(), file.ID), file.Bytes)
	}

	if !*long {
		return
	}
	// A node restarts with a new certificate; by then the other nodes have new ones,
	// too.
	ours.Renew(t, node, "node")
	nodes[2].Kill()
	nodes[2].Start(t)
	host.Do(t, "info", file.ID)
	for _, n := range nodes {
		sameBytes(t, "export", harness.Export(t, n.Client(), file.ID), file.Bytes)
	}
}
