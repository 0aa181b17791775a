package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/sesslog/sesslog/"

// checked are the folders whose functions must have a caller.
var checked = []string{"core", "session"}

//go:embed allowed.txt
var allowed string

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "callers:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedForTest,
		Dir: root, Tests: true,
	}, "./...")
	if err != nil {
		return err
	}
	if packages.PrintErrors(pkgs) > 0 {
		return fmt.Errorf("the packages do not compile")
	}
	return report(unreached(pkgs), strings.Split(allowed, "\n"))
}

// unreached returns the functions that must have a caller and have none, sorted.
func unreached(pkgs []*packages.Package) []string {
	g := newGraph()
	for _, p := range pkgs {
		g.add(p)
	}
	reached := g.reach()
	var names []string
	for name := range g.exported {
		if !reached[name] {
			names = append(names, strings.TrimPrefix(name, module))
		}
	}
	slices.Sort(names)
	return names
}

// report prints the functions that the list does not allow, and the lines of the
// list that are not needed.
func report(names, list []string) error {
	bad := 0
	var permitted []string
	for _, line := range list {
		name, _, _ := strings.Cut(line, " ")
		if name == "" || name == "#" {
			continue
		}
		permitted = append(permitted, name)
		if !slices.Contains(names, name) {
			fmt.Printf("allowed.txt has %s, which has a caller or does not exist\n", name)
			bad++
		}
	}
	for _, name := range names {
		if !slices.Contains(permitted, name) {
			fmt.Println(name)
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d functions without a caller in a program, an Example or a scenario", bad)
	}
	return nil
}
