package broken

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

var long = flag.Bool("long", false, "remove every rule, not only the first ones")

// A rule is a piece of source text and its replacement.
type rule struct {
	promise  string // the one in docs/RELIABILITY.md that breaks, or "secrets" or "loop"
	what     string
	file     string
	old, new string
	test     string // the package and the test that must fail; empty for the simulation
}

var rules = []rule{
	{
		"P1", "an append is acknowledged before it is stored", "engine/commit.go",
		"case errors.Is(err, core.ErrUncertain):\n\t\t\tuncertain, retryCtx = true, ctx\n",
		"case errors.Is(err, core.ErrUncertain):\n\t\t\treturn true, nil\n",
		"",
	},
	{
		"P2", "a fence is ignored", "core/admit.go",
		"return &FencedError{Session: s.ID, Head: head, Holder: claim}", "return nil",
		"",
	},
	{
		"P1", "an append is answered before its flush", "stream/append.go",
		"\tif err := l.written(ctx, shard, pos); err != nil {\n\t\treturn 0, err\n\t}\n", "",
		"test/powercut TestEveryAnswerFollowsItsFlush",
	},
	{
		"P1", "a rotated block is not flushed", "stream/embedded/streamfiles.go",
		"if f.last != nil {\n\t\tif err := f.sync(", "if f.last != nil && !changed {\n\t\tif err := f.sync(",
		"stream/embedded TestFlushCoversRotatedBlocks",
	},
	{
		"P1", "a replaced block is not put back", "stream/embedded/links.go",
		"if have, err := os.Lstat(path); err == nil && os.SameFile(have, info) {", "if have, err := os.Lstat(path); err == nil && (have != nil || os.SameFile(have, info)) {",
		"stream/embedded TestReplacedBlockIsRestoredAfterPowerCut",
	},
	{
		"P5", "the chain is not checked", "core/fold.go",
		"return r.Seq == s.Seq+1 && s.Chain.Next(r) == r.Chain", "return r.Seq == s.Seq+1",
		"",
	},
	{
		"P2", "the sequence is not checked", "engine/sim_test.go",
		"if have != after {", "if have < after {",
		"",
	},
	{
		"P4", "a record whose answer was lost is not looked for, nor its lines by their ids", "core/admit.go",
		"if s.hasAll(&p) {", "if false {",
		"engine TestStoredAppendIsNotReportedAsFenced",
	},
	{
		"P5", "nothing is put back", "engine/repair.go",
		"func (s *Session) nextMissing(v *view) (*core.Record, error) {\n", "func (s *Session) nextMissing(v *view) (*core.Record, error) {\n\tif true {\n\t\treturn nil, nil\n\t}\n",
		"",
	},
	{
		"P5", "lines are not rescued after another writer continued", "engine/repair.go",
		"if len(missing) == 0 || v.st.Seq == 0 {", "if true {",
		"",
	},
	{
		"P5", "orphans are not recovered", "engine/orphan.go",
		"if orphan.Kind != core.KindAppend {", "if true {",
		"",
	},
	{
		"P5", "a checkpoint rests on memory alone", "engine/verify.go",
		"if len(known) == 0 {", "if true {",
		"engine TestWriterWithOrphanHistoryWritesNoCheckpoint",
	},
	{
		"P5", "a checkpoint is not verified again after another record came first", "engine/checkpoint.go",
		"verified = st.Seq\n", "verified = 1 << 62\n",
		"engine TestCheckpointIsVerifiedAgainAfterAnotherRecord",
	},
	{
		"P5", "an orphan checkpoint is a base", "engine/load.go",
		"if before.Chain.Next(r) == r.Chain {", "if true {",
		"engine TestOrphanCheckpointIsNotABase",
	},
	{
		"P1", "what an old leader lacks counts as dropped", "engine/read.go",
		"first > at", "first+at > at",
		"test/sim TestOrphanCheckpointIsNoBaseIfLeaderLacksRecords",
	},
	{
		"P1", "a prefix is dropped that sessions need", "engine/checkpointall.go",
		"if err != nil || s.needsFrom > upTo {", "if true {",
		"",
	},
	{
		"P8", "two nodes write other snapshots of the same record", "engine/checkpoint.go",
		"plain := s.st.Render()\n", "plain := append(s.st.Render(), s.writer...)\n",
		"",
	},
	{
		"P3", "parents are not looked for", "core/admit.go",
		"if e.Parent != \"\" && !there(e.Parent) {", "if false {",
		"api/server TestNoEntryIsStoredWithoutItsParent",
	},
	{
		"P6", "an image is not put back as it was", "core/image/image.go",
		"return nil, fmt.Errorf(\"image %s: %w\", d, err)\n\t\t}\n\t\treturn base64.StdEncoding.AppendEncode(nil, raw), nil\n\t})\n}\n\n// Resolve", "return nil, fmt.Errorf(\"image %s: %w\", d, err)\n\t\t}\n\t\treturn base64.StdEncoding.AppendEncode([]byte{'A'}, raw), nil\n\t})\n}\n\n// Resolve",
		"api/server TestImportThenExportIsByteIdentical",
	},
	{
		"secrets", "secrets of opencode's database are not masked", "agent/follow/secrets.go",
		"if _, masked := f.source.(*packed); masked {", "if _, masked := f.source.(*packed); masked || f.source != nil {",
		"agent/follow TestSecretsOfADatabaseStayOnTheHost",
	},
	{
		"secrets", "secrets of compressed rollouts are not masked", "agent/secrets/file.go",
		"return p.Rules.Mask(lines), nil", "return lines, nil",
		"agent/follow TestSecretsOfCompressedRolloutsStayOnTheHost",
	},
	{
		"loop", "a call runs before its start is noted", "session/loop/tools.go",
		"if j.tool.Policy != Repeat && !p.Started {", "if false {",
		"session/loop TestRunSurvivesTheDeathOfItsHostAtEveryAction",
	},
	{
		"loop", "killed hosts run a call before its start is noted", "session/loop/tools.go",
		"if err := r.start(p); err != nil {", "if err := error(nil); err != nil {",
		"test/e2e TestLoopSurvivesTheKillOfItsHosts",
	},
	{
		"loop", "calls run although their reply was not stored", "session/loop/store.go",
		"err = l.durable(ctx, err)", "if err = l.durable(ctx, err); m.Role == Assistant {\n\terr = nil\n}",
		"session/loop TestFencedLoopStopsBeforeItsNextCall",
	},
}

func TestRemovedRulesAreFound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles package engine again for each break; not with -short")
	}
	for i, r := range rules {
		if i >= 2 && !*long {
			t.Logf("%d more with -long", len(rules)-i)
			return
		}
		t.Run(strings.ReplaceAll(r.promise+" "+r.what, " ", "_"), func(t *testing.T) { r.mustFail(t) })
	}
}

func TestEachRuleMatchesItsSourceOnce(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if _, _, err := r.breaks(root); err != nil {
			t.Error(err)
		}
	}
}

// breaks returns the file of the rule, and its text without the rule.
func (r rule) breaks(root string) (path, text string, err error) {
	path = filepath.Join(root, filepath.FromSlash(r.file))
	b, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	if n := strings.Count(string(b), r.old); n != 1 {
		return "", "", fmt.Errorf("%s has the source text of rule %q %d times, want once", r.file, r.what, n)
	}
	return path, strings.Replace(string(b), r.old, r.new, 1), nil
}

// mustFail removes the rule and runs the test that must fail.
func (r rule) mustFail(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path, text, err := r.breaks(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, filepath.Base(path))
	testkit.WriteFile(t, broken, []byte(text))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: broken}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	testkit.WriteFile(t, list, overlay)
	pkg, test, other := strings.Cut(r.test, " ")
	if !other {
		pkg, test = "engine", "TestPromisesHoldInSimulation"
	}
	tests := filepath.Join(dir, "broken.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", list, "-o", tests, "./"+pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the program does not compile without the rule: %v\n%s", err, out)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), tests, append([]string{"-test.run", test}, args...)...)
		cmd.Dir = filepath.Join(root, filepath.FromSlash(pkg))
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+list)) // for programs that the test builds
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	var out string
	if other {
		out, err = run()
	} else {
		// A simulation runs all its seeds, which are new each time, and most rules need only a
		// few. Of the rarest one, a million steps miss one removal in five.
		for _, steps := range []string{"24000", "120000", "1000000", "5000000"} {
			if out, err = run("-sim-steps", steps); err != nil {
				break
			}
		}
	}
	switch {
	case err == nil:
		t.Errorf("the test passes without the rule")
	case !strings.Contains(out, "--- FAIL: "+test):
		t.Errorf("it failed for another reason:\n%s", out)
	default:
		t.Logf("found: %s", first(out))
	}
}

// first returns the first broken promise in the output of the simulation.
func first(out string) string {
	for line := range strings.Lines(out) {
		if _, wrong, ok := strings.Cut(line, ": seed "); ok && strings.Contains(line, "simulation_test.go") {
			return strings.TrimSpace("seed " + wrong)
		}
	}
	return "the test fails"
}
