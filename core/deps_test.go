package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// What core may not import, and why.
var unwanted = map[string]string{
	"os":                  "core does no I/O",
	"net":                 "core does no I/O",
	"net/http":            "core does no I/O",
	"io/fs":               "core does no I/O",
	"log/slog":            "core returns errors",
	"log":                 "core returns errors",
	"sync":                "core starts no goroutine",
	"sync/atomic":         "core starts no goroutine",
	"math/rand/v2":        "the fold is the same everywhere",
	"math/rand":           "the fold is the same everywhere",
	"crypto/rand":         "the fold is the same everywhere",
	"runtime":             "the fold is the same everywhere",
	"unsafe":              "no bytes make it panic",
	"testing":             "it is for tests",
	"reflect":             "the fold is the same everywhere",
	"syscall":             "core does no I/O",
	"os/exec":             "core does no I/O",
	"golang.org/x/sys":    "core does no I/O",
	"path/filepath":       "a session knows no files",
	"golang.org/x/net":    "core does no I/O",
	"github.com/nats-io":  "core knows no storage",
	"github.com/minio":    "core knows no storage",
	"github.com/sesslog/": "core is a leaf",
}

var unwantedCalls = []string{"Now", "Since", "Until", "Sleep", "After", "NewTimer", "NewTicker", "Tick", "AfterFunc"}

func TestCoreIsPure(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range tree.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			for bad, why := range unwanted {
				if path == bad || strings.Contains(bad, ".") && strings.HasPrefix(path, bad) {
					t.Errorf("%s imports %s: %s", f.Name(), path, why)
				}
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", f.Name())
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
				for _, call := range unwantedCalls {
					if sel.Sel.Name == call {
						t.Errorf("%s calls time.%s: core reads no clock", f.Name(), call)
					}
				}
			}
			return true
		})
	}
}
