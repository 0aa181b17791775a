package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// goTexts returns the comments of a Go file, and what it prints: the string
// literals of at least three words, and errors of any length. Of a test file it returns the comments and
// the names of the tests.
func goTexts(file string, src []byte) ([]text, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	g := goFile{name: file, fset: fset, kinds: map[ast.Expr]kind{}}
	for _, group := range f.Comments {
		g.comment(group)
	}
	if strings.HasSuffix(file, "_test.go") {
		g.testNames(f)
	} else {
		ast.Inspect(f, g.visit)
	}
	return g.texts, nil
}

type goFile struct {
	name  string
	fset  *token.FileSet
	kinds map[ast.Expr]kind // of literals that are more than a text
	texts []text
}

func (g *goFile) line(pos token.Pos) int { return g.fset.Position(pos).Line }

func (g *goFile) comment(group *ast.CommentGroup) {
	t := text{file: g.name, kind: comment}
	for _, c := range group.List {
		if isDirective(c.Text) {
			continue
		}
		body := strings.TrimPrefix(c.Text, "//")
		if block, ok := strings.CutPrefix(c.Text, "/*"); ok {
			body = strings.TrimSuffix(block, "*/")
		}
		t.add(g.line(c.Pos()), body+"\n", true)
	}
	if t.body != "" {
		g.texts = append(g.texts, t)
	}
}

var directive = regexp.MustCompile(`^//(go:|line |nolint|export )`)

func isDirective(comment string) bool { return directive.MatchString(comment) }

// testNames takes the names of tests, benchmarks and examples as sentences.
func (g *goFile) testNames(f *ast.File) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		for _, prefix := range []string{"Test", "Benchmark", "Fuzz"} {
			if rest, ok := strings.CutPrefix(fn.Name.Name, prefix); ok {
				g.texts = append(g.texts, newText(g.name, testName, g.line(fn.Name.Pos()), sentence(rest)))
			}
		}
	}
}

// sentence splits a name in mixed caps into lower-case words.
func sentence(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if i > 0 && unicode.IsUpper(r) && (next || !unicode.IsUpper(runes[i-1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func (g *goFile) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		if n.Tag != nil { // a struct tag is data
			g.kinds[n.Tag] = plain
		}
	case *ast.CallExpr:
		if name := callee(n); (name == "errors.New" || name == "fmt.Errorf") && len(n.Args) > 0 {
			g.kinds[n.Args[0]] = errorMsg
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Short" {
			g.kinds[n.Value] = short
		}
	case *ast.BinaryExpr, *ast.BasicLit:
		return g.literal(n.(ast.Expr))
	}
	return true
}

// literal takes a string literal, or several that are added up, as one text.
func (g *goFile) literal(e ast.Expr) bool {
	k := g.kinds[e]
	if k == plain {
		return false
	}
	if k == "" {
		k = literal
	}
	t := text{file: g.name, kind: k}
	g.concat(&t, e)
	if t.body == "" {
		return true
	}
	if (k == errorMsg || words(t.body) >= 3) && !isData(t.body) {
		g.texts = append(g.texts, t)
	}
	return false
}

// concat adds the literals of e to t. An operand that is not a literal counts as
// a word. It adds nothing if e is another expression.
func (g *goFile) concat(t *text, e ast.Expr) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return
		}
		body, err := strconv.Unquote(e.Value)
		if err == nil {
			t.add(g.line(e.Pos()), body, e.Value[0] == '`')
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			g.concat(t, e.X)
			g.concat(t, e.Y)
		}
	default:
		if t.body != "" {
			t.add(g.line(e.Pos()), "%s", false)
		}
	}
}

func callee(c *ast.CallExpr) string {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return pkg.Name + "." + sel.Sel.Name
}

var data = regexp.MustCompile(`^\s*([{\[<]|#!|--|(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|WITH|REPLACE)\b)`)

// isData reports whether a literal is SQL, JSON, markup or a script.
func isData(s string) bool { return data.MatchString(s) }
