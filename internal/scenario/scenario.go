package scenario

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "replace the expected output of scenarios")

// A Command is one step of a scenario.
type Command struct {
	Name  string
	Args  []string
	Input []string // its lines
}

// Run runs the scenario in a file. run executes a command and returns its output.
func Run(t *testing.T, file string, run func(*testing.T, Command) string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	for i := 0; i < len(lines); {
		if lines[i] == "" || strings.HasPrefix(lines[i], "#") {
			out.WriteString(lines[i] + "\n")
			i++
			continue
		}
		start := i
		for i < len(lines) && lines[i] != "----" {
			i++
		}
		if i == len(lines) {
			t.Fatalf("%s:%d: no ---- after the command", file, start+1)
		}
		step, want := lines[start:i], ""
		for i++; i < len(lines) && lines[i] != ""; i++ {
			want += lines[i] + "\n"
		}
		words := strings.Fields(step[0])
		got := run(t, Command{Name: words[0], Args: words[1:], Input: step[1:]})
		if got != want && !*rewrite {
			t.Fatalf("%s:%d: %s\ngot:\n%swant:\n%s", file, start+1, step[0], got, want)
		}
		out.WriteString(strings.Join(step, "\n") + "\n----\n" + got)
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
