package k8s_test

import (
	"crypto/rand"
	"flag"
	"net"
	"net/url"
	"os"
	"strconv"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/s3server"
)

var (
	long = flag.Bool("long", false, "run the rolling restart at its full rate")
	rate = flag.Int("rate", 500, "appends/s of the long rolling restart")
)

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.MoreParallel()
	os.Exit(harness.Main(m))
}

// newWorld returns what an overlay needs: its Secret and its servers.
func newWorld(t *testing.T, overlay string) *world {
	t.Helper()
	w := &world{
		manifest: readManifest(t, overlay),
		secret:   map[string]string{"token": rand.Text()},
		names:    map[string]string{},
	}
	if overlay == "single" {
		return w
	}
	s3 := s3server.Start(t)
	if err := s3.MakeBucket(t.Context(), "sesslog"); err != nil {
		t.Fatal(err)
	}
	w.names["https://s3.example.com"] = s3.Endpoint
	w.secret["s3-access-key"], w.secret["s3-secret-key"] = s3.AccessKey, s3.SecretKey
	w.env = []string{"SSL_CERT_FILE=" + s3.CAFile} // the image has the public authorities
	switch overlay {
	case "cluster":
		w.secret["cluster-secret"] = rand.Text()
	case "external":
		nats, creds := startNATS(t)
		w.names["nats://nats.nats:4222"] = nats
		w.secret["nats.creds"] = creds
	}
	return w
}

// startNATS starts a cluster of three servers with accounts. It returns the URL of
// one server and the credentials of a user whose account has JetStream.
func startNATS(t *testing.T) (at, creds string) {
	t.Helper()
	operator, system, account, user := key(t, nkeys.CreateOperator), key(t, nkeys.CreateAccount), key(t, nkeys.CreateAccount), key(t, nkeys.CreateUser)
	claims := jwt.NewOperatorClaims(public(t, operator))
	claims.SystemAccount = public(t, system)
	accounts := &server.MemAccResolver{}
	for _, k := range []nkeys.KeyPair{system, account} {
		a := jwt.NewAccountClaims(public(t, k))
		if k == account {
			a.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
		}
		if err := accounts.Store(a.Subject, encode(t, a, operator)); err != nil {
			t.Fatal(err)
		}
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(encode(t, jwt.NewUserClaims(public(t, user)), account), seed)
	if err != nil {
		t.Fatal(err)
	}
	addrs := testkit.FreeAddrs(t, 3)
	var first *server.Server
	for i, addr := range addrs {
		host, port, _ := net.SplitHostPort(addr)
		o := &server.Options{
			ServerName: "nats-" + strconv.Itoa(i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
			TrustedOperators: []*jwt.OperatorClaims{claims}, SystemAccount: claims.SystemAccount, AccountResolver: accounts,
			Cluster: server.ClusterOpts{Name: "nats", Host: host},
		}
		o.Cluster.Port, _ = strconv.Atoi(port)
		for _, other := range addrs {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: other})
		}
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		if first == nil {
			first = s
		}
	}
	harness.Await(t, "the NATS cluster", func() error {
		if h := first.Healthz(nil); h.Error != "" {
			return &notReady{h.Error}
		}
		if n := len(first.JetStreamClusterPeers()); first.JetStreamIsLeader() && n < 3 {
			return &notReady{strconv.Itoa(n) + " servers"}
		}
		return nil
	})
	return first.ClientURL(), string(file)
}

type notReady struct{ why string }

func (n *notReady) Error() string { return n.why }

func key(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	k, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func public(t *testing.T, k nkeys.KeyPair) string {
	t.Helper()
	s, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encode(t *testing.T, c jwt.Claims, by nkeys.KeyPair) string {
	t.Helper()
	s, err := c.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
