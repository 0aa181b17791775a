package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What core may not import, and why.
var unwanted = map[string]string{
	"os":                 "core does no I/O",
	"net":                "core does no I/O",
	"net/http":           "core does no I/O",
	"io/fs":              "core does no I/O",
	"log/slog":           "core returns errors",
	"log":                "core returns errors",
	"sync":               "core starts no goroutine",
	"sync/atomic":        "core starts no goroutine",
	"math/rand/v2":       "the fold is the same everywhere",
	"math/rand":          "the fold is the same everywhere",
	"crypto/rand":        "the fold is the same everywhere",
	"runtime":            "the fold is the same everywhere",
	"unsafe":             "no bytes make it panic",
	"testing":            "it is for tests",
	"reflect":            "the fold is the same everywhere",
	"syscall":            "core does no I/O",
	"os/exec":            "core does no I/O",
	"golang.org/x/sys":   "core does no I/O",
	"path/filepath":      "a session knows no files",
	"golang.org/x/net":   "core does no I/O",
	"github.com/nats-io": "core knows no storage",
	"github.com/minio":   "core knows no storage",
}

var unwantedCalls = []string{"Now", "Since", "Until", "Sleep", "After", "NewTimer", "NewTicker", "Tick", "AfterFunc"}

// ours are the packages of ours that core may import; they import each other at most.
var ours = []string{"core/display", "core/internal/images", "core/item"}

func TestCoreIsPure(t *testing.T) {
	for _, dir := range []string{".", "agentfile", "bundle", "display", "image", "internal/images", "item", "jsonline", "newid", "optional", "prune", "redact", "tree"} {
		checkPurity(t, dir)
	}
}

func checkPurity(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range tree.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			for bad, why := range unwanted {
				if path == bad || strings.Contains(bad, ".") && strings.HasPrefix(path, bad) {
					t.Errorf("%s imports %s: %s", f, path, why)
				}
			}
			own, isOwn := strings.CutPrefix(path, "github.com/sesslog/sesslog/")
			if isOwn && !slices.Contains(ours, own) && (dir == "." || slices.Contains(ours, "core/"+dir)) {
				t.Errorf("%s imports %s: core is a leaf", f, path)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", f)
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
				for _, call := range unwantedCalls {
					if sel.Sel.Name == call {
						t.Errorf("%s calls time.%s: core reads no clock", f, call)
					}
				}
			}
			return true
		})
	}
}
