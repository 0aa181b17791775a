package capabilities

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// mutationEnv names the environment variable that selects a mutation of the
// programs that buildMutants builds, by its number; empty for none.
const mutationEnv = "SESSLOG_MUTATION"

// buildMutants builds the programs with all mutations in them, and returns their
// directory. Building them for each mutation would take hours. Each function that
// mutations change is in the programs as it is and as each mutation makes it, and
// what calls it gets the selected one.
func buildMutants(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	write := func(path, text string) {
		name := filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(path)))
		testkit.WriteFile(t, name, []byte(text))
		replace[path] = name
	}
	for file := range inFiles() {
		path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		pkg, text, err := mutants(path, file)
		if err != nil {
			t.Fatal(err)
		}
		write(path, text)
		if selects := filepath.Join(filepath.Dir(path), "mutation.go"); replace[selects] == "" {
			write(selects, fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar selectedMutation = os.Getenv(%q)\n", pkg, mutationEnv))
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	testkit.WriteFile(t, overlay, list)
	args := []string{"build", "-overlay", overlay, "-o", dir + string(filepath.Separator)}
	for _, source := range harness.Sources {
		args = append(args, source)
	}
	build := exec.CommandContext(t.Context(), "go", args...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the programs do not compile with the mutations: %v\n%s", err, out)
	}
	return dir
}

// inFiles returns the numbers of the mutations of each file.
func inFiles() map[string][]int {
	of := map[string][]int{}
	for i, m := range mutations {
		of[m.file] = append(of[m.file], i)
	}
	return of
}

// mutants returns the text of a file with its mutations.
func mutants(path, file string) (pkg, text string, err error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	of := map[*ast.FuncDecl][]int{}
	for _, i := range inFiles()[file] {
		f := mutations[i].function(string(src), tree)
		if f == nil {
			return "", "", fmt.Errorf("%s: %q is not the text of one function", file, mutations[i].what)
		}
		of[f] = append(of[f], i)
	}
	at := 0
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || of[f] == nil {
			continue
		}
		text += string(src[at:f.Pos()-1]) + selection(string(src), f, of[f])
		at = int(f.End()) - 1
	}
	return tree.Name.Name, text + string(src[at:]), nil
}

// function returns the function that the mutation changes, or nil.
func (m mutation) function(src string, file *ast.File) *ast.FuncDecl {
	from, to := m.changed(src)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && int(f.Body.Lbrace) <= from && to < int(f.Body.Rbrace) {
			return f
		}
	}
	return nil
}

// changed returns the range of src that the mutation replaces by other text.
func (m mutation) changed(src string) (from, to int) {
	old, changed := m.old, m.new
	from = strings.Index(src, old)
	to = from + len(old)
	for old != "" && changed != "" && old[len(old)-1] == changed[len(changed)-1] {
		old, changed, to = old[:len(old)-1], changed[:len(changed)-1], to-1
	}
	for old != "" && changed != "" && old[0] == changed[0] {
		old, changed, from = old[1:], changed[1:], from+1
	}
	return from, to
}

// selection returns the text of a function that calls the selected one of its
// variants, and of these.
func selection(src string, f *ast.FuncDecl, numbers []int) string {
	text := func(n ast.Node) string { return src[n.Pos()-1 : n.End()-1] }
	params, args := named(f.Type.Params, "p", text)
	head, call := "func ", f.Name.Name+"_%s("+args+")"
	if f.Recv != nil {
		recv, name := named(f.Recv, "r", text)
		head, call = head+"("+recv+") ", name+"."+call
	}
	head += f.Name.Name
	if f.Type.TypeParams != nil {
		head += text(f.Type.TypeParams)
	}
	head += "(" + params + ") "
	if f.Type.Results != nil {
		head, call = head+text(f.Type.Results)+" ", "return "+call
	}
	variant := func(body, number string) string {
		at := f.Name.End() - f.Pos()
		return "\n\n" + body[:at] + "_" + number + body[at:]
	}
	whole := text(f)
	b := head + "{\n\tswitch selectedMutation {\n"
	for _, i := range numbers {
		b += fmt.Sprintf("\tcase \"%d\":\n\t\t"+call+"\n", i, fmt.Sprint(i))
	}
	b += fmt.Sprintf("\tdefault:\n\t\t"+call+"\n\t}\n}", "as_it_is")
	b += variant(whole, "as_it_is")
	for _, i := range numbers {
		m := mutations[i]
		from, to := m.changed(src)
		at := strings.Index(src, m.old)
		with := m.new[from-at : len(m.new)-(at+len(m.old)-to)]
		begin := int(f.Pos()) - 1
		b += variant(whole[:from-begin]+with+whole[to-begin:], fmt.Sprint(i))
	}
	return b
}

// named returns a list of parameters, each with a name, and the arguments that
// pass them on.
func named(list *ast.FieldList, prefix string, text func(ast.Node) string) (params, args string) {
	var ps, as []string
	add := func(name string, t ast.Expr) {
		if name == "" || name == "_" {
			name = fmt.Sprintf("%s%d", prefix, len(ps))
		}
		ps = append(ps, name+" "+text(t))
		if _, ok := t.(*ast.Ellipsis); ok {
			name += "..."
		}
		as = append(as, name)
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			add(n.Name, f.Type)
		}
		if len(f.Names) == 0 {
			add("", f.Type)
		}
	}
	return strings.Join(ps, ", "), strings.Join(as, ", ")
}

// play plays the scenario with the mutation in the programs of dir, and returns
// what the test said.
func play(t *testing.T, dir, scenario, number string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	test := exec.CommandContext(t.Context(), self, "-test.run", "^TestScenarios$/^"+scenario+"$", "-programs", dir)
	test.Env = slices.Concat(os.Environ(), []string{mutationEnv + "=" + number})
	out, err := test.CombinedOutput()
	return string(out), err
}
