package fire_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/fire/lan"
)

var (
	long   = flag.Bool("long", false, "run for minutes, with faults of the network")
	length = flag.Duration("for", 0, "how long each run lasts; default a few seconds, with -long two minutes")
	seed   = flag.Uint64("seed", 0, "of what is drawn; 0: one by chance, which is printed")
	only   = flag.String("faults", "", "kinds of fault, separated by commas; default all that the run knows")
	lanes  = flag.Int("lanes", 2, "run so many rounds at a time")
	strict = flag.Bool("strict", false, "ask for strict reads, and excuse none as old")
)

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.MoreParallel()
	os.Exit(harness.Main(m))
}

// untruncated keeps all records in the log: the checks at the end read them.
const untruncated = "SESS_LOG_GARBAGE=0"

func TestOneNodeUnderFire(t *testing.T) {
	t.Parallel()
	r := newRun("one")
	r.t, r.nodes = t, []*harness.Node{harness.StartNode(t, untruncated)}
	r.fire(chosen(t, processFaults[2:3], processFaults[5:]), lasts(6*time.Second))
}

func TestThreeNodesUnderFire(t *testing.T) {
	t.Parallel()
	r := newRun("three")
	r.t, r.nodes = t, harness.StartCluster(t, 3, harness.StartBucket(t), untruncated)
	kinds := processFaults[:1]
	if *long || *length > 0 {
		kinds = processFaults
	}
	r.fire(chosen(t, kinds), lasts(3*time.Second))
}

// inside is set if the test runs in separate namespaces.
const inside = "SESSLOG_FIRE_INSIDE"

func TestThreeHostsUnderFire(t *testing.T) {
	if os.Getenv(inside) == "" {
		enter(t)
		return
	}
	r := newRun("hosts")
	net, err := lan.New(fmt.Sprintf("fire%d", os.Getpid()), 3, r.seed)
	if err != nil {
		t.Fatal(err)
	}
	defer net.Close()
	r.t, r.lan, r.nodes = t, net, startHosts(t, net)
	r.fire(chosen(t, processFaults, networkFaults), lasts(0))
}

// enter runs the test again in separate namespaces.
func enter(t *testing.T) {
	if !*long && *length == 0 {
		t.Skip("skipped: it takes minutes; ask for it with -long or -for")
	}
	if err := lan.Missing(); err != nil {
		t.Skip("skipped:", err)
	}
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^" + t.Name() + "$"}, asIs()...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	lan.Enter(cmd)
	if err := cmd.Run(); err != nil {
		t.Errorf("in namespaces of its own: %v", err)
	}
}

// asIs returns the flags of this run.
func asIs() (args []string) {
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") || f.Name == "test.timeout" {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// startHosts starts a cluster with one node per host, and the object store in this process.
func startHosts(t *testing.T, net *lan.LAN) []*harness.Node {
	t.Helper()
	bucket := harness.StartBucketAt(t, net.IP(0))
	var routes []string
	for host := 1; host <= 3; host++ {
		routes = append(routes, net.IP(host)+":6222")
	}
	nodes := make([]*harness.Node, 3)
	for i := range nodes {
		host := i + 1
		nodes[i] = harness.NewNode(t, append(bucket.Args(),
			"--listen", net.IP(host)+":7433",
			"--node", fmt.Sprintf("n%d", host),
			"--cluster-name", "fire",
			"--cluster-listen", routes[i],
			"--cluster-routes", strings.Join(routes, ","),
			untruncated,
			"SESS_TOKEN=of-the-test",
			"SESS_CLUSTER_SECRET=of-the-test")...)
		nodes[i].Token = "of-the-test"
		nodes[i].Via = net.Via(host)
	}
	harness.StartAll(t, nodes)
	return nodes
}

func newRun(name string) *run {
	r := &run{name: name, seed: cmp.Or(*seed, rand.Uint64()>>32), mixed: *long || *length > 0}
	r.history.began = time.Now()
	return r
}

// lasts returns the duration of a run whose short mode takes short.
func lasts(short time.Duration) time.Duration {
	switch {
	case *length > 0:
		return *length
	case *long:
		return 2 * time.Minute
	}
	return short
}

// chosen returns the kinds of faults that -faults selects.
func chosen(t *testing.T, sets ...[]fault) (kinds []fault) {
	for _, set := range sets {
		for _, f := range set {
			if *only == "" || strings.Contains(","+*only+",", ","+f.kind+",") {
				kinds = append(kinds, f)
			}
		}
	}
	if kinds == nil {
		t.Fatalf("-faults %q names none that this run knows", *only)
	}
	return kinds
}
