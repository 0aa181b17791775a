package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A graph has the declarations of the module and what each of them uses. They are
// named as in "pkg/path.Name" and "pkg/path.Type.Method": a package that is loaded
// twice, with and without its tests, has the same names.
type graph struct {
	uses     map[string]map[string]bool
	roots    map[string]bool
	exported map[string]bool            // functions that must have a caller
	methods  map[string]map[string]bool // of each type, those that an interface has
}

func newGraph() *graph {
	return &graph{map[string]map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}}
}

// add adds the declarations of a package.
func (g *graph) add(p *packages.Package) {
	ifaces := interfaces(p.Types)
	for i, f := range p.Syntax {
		file := p.Fset.Position(p.Syntax[i].Pos()).Filename
		if strings.HasPrefix(filepath.Base(filepath.Dir(file)), "go-build") { // the generated main of a test
			continue
		}
		s := source{g, p, strings.HasSuffix(file, "_test.go"), strings.HasPrefix(p.PkgPath, module+"test/capabilities")}
		for _, d := range f.Decls {
			s.decl(d)
		}
	}
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		if t, ok := scope.Lookup(name).(*types.TypeName); ok && !t.IsAlias() {
			g.implements(t, ifaces)
		}
	}
}

// reach returns what the roots use, directly or not.
func (g *graph) reach() map[string]bool {
	reached := map[string]bool{}
	todo := []string{}
	visit := func(names map[string]bool) {
		for name := range names {
			if !reached[name] {
				reached[name] = true
				todo = append(todo, name)
			}
		}
	}
	visit(g.roots)
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		visit(g.uses[name])
		visit(g.methods[name])
	}
	return reached
}

// A source is a file of a package.
type source struct {
	*graph
	pkg      *packages.Package
	test     bool
	scenario bool
}

func (s source) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.function(d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			s.spec(d.Tok, spec)
		}
	}
}

func (s source) function(d *ast.FuncDecl) {
	obj, _ := s.pkg.TypesInfo.Defs[d.Name].(*types.Func)
	name := nameOf(obj)
	s.from(name, d)
	switch {
	case d.Name.Name == "init" && d.Recv == nil:
		s.from("", d)
	case s.scenario, strings.HasPrefix(d.Name.Name, "Example") && s.test:
		s.roots[name] = true
	case d.Name.Name == "main" && strings.HasPrefix(s.pkg.PkgPath, module+"cmd/"):
		s.roots[name] = true
	}
	if !s.test && mustBeCalled(s.pkg, obj) {
		s.exported[name] = true
	}
}

// spec adds variables and types. What initializes a variable without a name runs
// in any case.
func (s source) spec(tok token.Token, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		s.from(nameOf(s.pkg.TypesInfo.Defs[spec.Name]), spec)
	case *ast.ValueSpec:
		for _, id := range spec.Names {
			name := nameOf(s.pkg.TypesInfo.Defs[id])
			if id.Name == "_" || tok == token.VAR && s.scenario {
				name = ""
			}
			s.from(name, spec)
		}
	}
}

// from records what the node n of the declaration uses. The empty name is a root,
// except in tests.
func (s source) from(name string, n ast.Node) {
	if name == "" && s.test && !s.scenario {
		return
	}
	to := s.uses[name]
	if name == "" {
		to = s.roots
	}
	if to == nil {
		to = map[string]bool{}
		s.uses[name] = to
	}
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if obj := s.pkg.TypesInfo.Uses[id]; obj != nil && obj.Pkg() != nil && strings.HasPrefix(obj.Pkg().Path(), module) {
			if used := nameOf(obj); used != "" {
				to[used] = true
			}
		}
		return true
	})
}

// found are the methods that the standard library looks for at run time, by
// interfaces without a name or in packages that the type's package does not import.
var found = []string{"Unwrap", "MarshalText", "UnmarshalText", "MarshalJSON", "UnmarshalJSON"}

// implements records which methods of t an interface asks for.
func (g *graph) implements(t *types.TypeName, ifaces []*types.Interface) {
	named, ok := t.Type().(*types.Named)
	if !ok || types.IsInterface(named) {
		return
	}
	name := nameOf(t)
	set := types.NewMethodSet(types.NewPointer(named))
	asked := map[string]bool{}
	for _, method := range found {
		if sel := set.Lookup(nil, method); sel != nil {
			asked[nameOf(sel.Obj())] = true
		}
	}
	for _, i := range ifaces {
		if !types.Implements(types.NewPointer(named), i) {
			continue
		}
		for n := range i.NumMethods() {
			if sel := set.Lookup(i.Method(n).Pkg(), i.Method(n).Name()); sel != nil {
				asked[nameOf(sel.Obj())] = true
			}
		}
	}
	if len(asked) > 0 {
		if g.methods[name] == nil {
			g.methods[name] = map[string]bool{}
		}
		maps.Copy(g.methods[name], asked)
	}
}
