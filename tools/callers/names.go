package main

import (
	"go/types"
	"path"
	"strings"

	"golang.org/x/tools/go/packages"
)

// nameOf names a declaration of a package: a function, a method with its type, a
// type, a variable or a constant. It returns "" for what is inside of these.
func nameOf(obj types.Object) string {
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	f, ok := obj.(*types.Func)
	if !ok {
		if obj.Parent() != obj.Pkg().Scope() {
			return ""
		}
		return obj.Pkg().Path() + "." + obj.Name()
	}
	f = f.Origin()
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Pkg().Path() + "." + f.Name()
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	if !ok || types.IsInterface(t) {
		return ""
	}
	return f.Pkg().Path() + "." + named.Obj().Name() + "." + f.Name()
}

// mustBeCalled reports whether f is an exported function, or a method of an
// exported type, of a checked folder. Packages for tests are not checked.
func mustBeCalled(p *packages.Package, f *types.Func) bool {
	if f == nil || !f.Exported() || strings.HasSuffix(p.PkgPath, "test") {
		return false
	}
	if recv := f.Signature().Recv(); recv != nil && !exportedType(recv.Type()) {
		return false
	}
	for _, folder := range checked {
		if rest, ok := strings.CutPrefix(p.PkgPath, module+folder); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

func exportedType(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Exported()
}

// interfaces returns the interfaces that p declares or can name: its own and those
// of the packages that it imports, directly or not.
func interfaces(p *types.Package) []*types.Interface {
	var found []*types.Interface
	seen := map[*types.Package]bool{}
	var visit func(p *types.Package)
	visit = func(p *types.Package) {
		if seen[p] {
			return
		}
		seen[p] = true
		if known(p.Path()) {
			scope := p.Scope()
			for _, name := range scope.Names() {
				if i, ok := scope.Lookup(name).Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
					found = append(found, i)
				}
			}
		}
		for _, q := range p.Imports() {
			visit(q)
		}
	}
	visit(p)
	return append(found, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// known reports whether the interfaces of a package count: ours, and those of the
// standard library.
func known(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return strings.HasPrefix(pkg, module) || path.Ext(first) == ""
}
