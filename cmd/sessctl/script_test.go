package main

import (
	"flag"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sesslog/sesslog/internal/testkit"
)

var update = flag.Bool("update", false, "write what the tests expect anew")

// programs are what the test binary is when it is called by their names.
var programs = map[string]func(){"sessctl": main}

func TestMain(m *testing.M) {
	testscript.Main(m, programs)
}

// TestScripts plays testdata/script. No node answers there. Beside the verbs of
// testscript there is code N COMMAND..., which expects that exit code.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SESS_URL", "http://127.0.0.1:1")
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": testkit.ExpectCode},
	})
}
