package capabilities

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

var (
	programs = flag.String("programs", "", "play the scenarios with the sessnode and sessctl in `DIR`")
	update   = flag.Bool("update", false, "write what the programs print into the scenarios")
	nodes    = flag.Int("nodes", 1, "play the scenarios against a cluster of `N` nodes")
)

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.MoreParallel()
	os.Exit(harness.Main(m))
}

const scenarios = "testdata/scenarios"

// TestScenarios plays each scenario with sessctl, HTTP requests and the Go program
// manager against a node: one of a cluster, with -nodes. $SESS_URL is its address,
// and $OTHER_URL that of another node of the cluster, or the same. Besides the
// verbs of testscript there are:
//
//	code N COMMAND...              expects that exit code
//	http STATUS METHOD PATH [BODY [KEY]] expects that status; stdout is the answer, BODY a file, KEY an Idempotency-Key
//	id NAME                        sets $NAME to the last line of stdout
//	node NAME ACTION [ARGS...]     starts, kills or restarts a node of the scenario's own
func TestScenarios(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds and runs the programs; not with -short")
	}
	bin := programDir(t)
	cluster := startNodes(t, bin)
	var played atomic.Uint32
	tools, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	own := &ownNodes{t: t, bin: bin, by: map[string]*harness.Node{}}
	testscript.Run(t, testscript.Params{
		Dir:             scenarios,
		ContinueOnError: true, // a mutation may break several
		Condition: func(cond string) (bool, error) {
			if cond != "cluster" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return len(cluster) > 1, nil
		},
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+tools+string(os.PathListSeparator)+env.Getenv("PATH"))
			n := int(played.Add(1))
			env.Setenv("SESS_URL", cluster[n%len(cluster)].URL)
			env.Setenv("OTHER_URL", cluster[(n+1)%len(cluster)].URL)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TZ", "UTC")
			env.Setenv(mutationEnv, os.Getenv(mutationEnv))
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": testkit.ExpectCode, "http": request, "id": keep, "node": own.node,
		},
	})
}

// programDir returns the directory with the programs to test.
func programDir(t *testing.T) string {
	t.Helper()
	if *programs != "" {
		return *programs
	}
	harness.Binary(t, "sessnode")
	harness.Binary(t, "manager")
	return filepath.Dir(harness.Binary(t, "sessctl"))
}

// startNodes starts the node or the cluster that the scenarios share.
func startNodes(t *testing.T, bin string) []*harness.Node {
	t.Helper()
	var cluster []*harness.Node
	if *nodes > 1 {
		cluster = harness.NewCluster(t, *nodes, harness.StartBucket(t))
	} else {
		cluster = []*harness.Node{harness.NewNode(t)}
	}
	for _, n := range cluster {
		n.Program = filepath.Join(bin, "sessnode")
		n.Env = append(n.Env, mutationEnv+"="+os.Getenv(mutationEnv))
	}
	harness.StartAll(t, cluster)
	return cluster
}

func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 5 {
		ts.Fatalf("usage: http STATUS METHOD PATH [BODY [KEY]]")
	}
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(ts.ReadFile(args[3]))
	}
	req, err := http.NewRequest(args[1], ts.Getenv("SESS_URL")+args[2], body)
	ts.Check(err)
	if token := ts.Getenv("SESS_TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if args[2] == "/mcp" {
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if len(args) == 5 {
		req.Header.Set(api.HeaderIdempotency, args[4])
	}
	if len(args) > 3 {
		req.Header.Set("Content-Type", "application/json")
		if strings.HasSuffix(args[3], ".jsonl") {
			req.Header.Set("Content-Type", "application/x-ndjson")
		}
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(b)
	ts.Check(err)
	if got := strconv.Itoa(res.StatusCode); got != args[0] {
		ts.Fatalf("%s %s answers %s, want %s:\n%s", args[1], args[2], got, args[0], b)
	}
}

func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: id NAME")
	}
	lines := strings.Fields(ts.ReadFile("stdout"))
	if len(lines) == 0 {
		ts.Fatalf("the last command printed nothing")
	}
	ts.Setenv(args[0], lines[len(lines)-1])
}

func readScenario(t *testing.T, name string) string {
	t.Helper()
	b := testkit.ReadFile(t, filepath.Join(scenarios, name+".txtar"))
	return string(b)
}

// idsOf returns the capabilities that a scenario names in its comments.
func idsOf(t *testing.T, name string) []string {
	t.Helper()
	return scenarioID.FindAllString(readScenario(t, name), -1)
}

// playedIDs returns the capabilities that any scenario names.
func playedIDs(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(scenarios, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	played := map[string]bool{}
	for _, f := range files {
		for _, id := range idsOf(t, strings.TrimSuffix(filepath.Base(f), ".txtar")) {
			played[id] = true
		}
	}
	return played
}

var scenarioID = regexp.MustCompile(`\b(?:OP|OMP|NOVA|PI|RATH|FLEET|EDGE)-\d\d\b`)
