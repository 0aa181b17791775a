package server_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// object is a JSON object of the description. encoding/json sorts its members.
type object = map[string]any

// schemas generates JSON schemas from Go types. The comments of types and fields
// become descriptions.
type schemas struct {
	made   object                  // by name: components/schemas
	params object                  // components/parameters
	names  map[reflect.Type]string // of those in made
	said   map[string]string       // comments, by package path, type and field
}

func newSchemas(root string) (*schemas, error) {
	s := &schemas{made: object{}, params: object{}, names: map[reflect.Type]string{}, said: map[string]string{}}
	for _, dir := range []string{"api", "blobstore", "core", "materializer", "session", "stream"} {
		if err := s.readComments(root, dir); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// schemaNames names types whose Go names are ambiguous.
var schemaNames = map[string]string{
	"core/lineage.Node":   "LineageNode",
	"core/lineage.Edge":   "LineageEdge",
	"core/lineage.Stamp":  "LineageStamp",
	"core/lineage.Parent": "LineageParent",
	"core/lineage.Usage":  "TokenUsage",
	"core/usage.Report":   "UsageReport",
	"core/usage.Model":    "ModelUsage",
	"core/usage.Named":    "NamedUsage",
	"core/usage.Part":     "UsagePart",
	"core/usage.Sum":      "UsageSum",
	"core.Lineage":        "Origins",
	"core.Receipt":        "Appended",
	"core/report.GC":      "GCReport",
	"core/report.Found":   "Erasable",
	"core/report.Outcome": "PlanOutcome",
	"core/report.Item":    "PlanItem",
	"core/report.Rule":    "PolicyRule",
	"core.Notice":         "NoticeStored",
	"display.Info":        "AgentInfo",
	"api.BlobPuts":        "Puts",
	"api.Detail":          "Problem",
	"core/report.Problem": "Finding",
	"core/report.Finding": "ExaminationFinding",
	"core.Snapshot":       "",
	"core.Change":         "Change",
	"session.HeldClaim":   "PresenceHold",
	"core/report.Step":    "RestoreStep",
}

const module = "github.com/sesslog/sesslog/"

// whole has the schemas of types with their own JSON encoding.
var whole = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
	reflect.TypeFor[time.Duration]():   {"type": "integer", "format": "int64", "description": "In nanoseconds."},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {"type": "string", "contentEncoding": "base64"},
	reflect.TypeFor[core.SessionID]():  {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,128}$", "description": "A session's id in the log."},
	reflect.TypeFor[core.Digest]():     {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$", "description": "The SHA-256 of bytes; empty for none."},
	reflect.TypeFor[core.Chain]():      {"type": "string", "pattern": "^([0-9a-f]{64})?$", "description": "A hash over a record and all before it."},
	reflect.TypeFor[core.Cursor]():     {"type": "string", "pattern": "^(0|[0-9]+-[0-9a-f]{16})?$", "description": "A place in a session's history, the same on every node; 0 or empty for before all records."},
	reflect.TypeFor[core.Leaf](): {
		"type": "object", "description": "An entry by its id, or before all entries with none; {} for where nothing was said.",
		"properties": object{"id": object{"type": "string"}, "none": object{"type": "boolean"}},
	},
	reflect.TypeFor[lineage.Extra](): {
		"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": []any{object{"type": "string"}, object{}},
		"description": "A name and a value.",
	},
}

// of returns the schema of t; for a struct, a reference to it.
func (s *schemas) of(t reflect.Type) object {
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem())
	}
	if whole, ok := whole[t]; ok {
		if t.Name() == "" || t.PkgPath() == "time" || t == reflect.TypeFor[json.RawMessage]() {
			return clone(whole)
		}
		s.made[t.Name()] = whole
		return ref(t.Name())
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		panic(fmt.Sprintf("%v says itself what it is in JSON: describe it in whole", t))
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	panic(fmt.Sprintf("%v has no schema", t))
}

func clone(o object) object {
	c := object{}
	for k, v := range o {
		c[k] = v
	}
	return c
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func (s *schemas) structure(t reflect.Type) object {
	if name, ok := s.names[t]; ok {
		return ref(name)
	}
	key := strings.TrimPrefix(t.PkgPath(), module) + "." + t.Name()
	name := t.Name()
	if given, ok := schemaNames[key]; ok {
		name = given
	}
	if _, taken := s.made[name]; taken || name == "" {
		panic(fmt.Sprintf("%s: another type is called %q already; name it in schemaNames", key, name))
	}
	s.names[t] = name
	out := object{"type": "object"}
	s.made[name] = out
	if said := s.said[key]; said != "" {
		out["description"] = said
	}
	properties, required := object{}, []string{}
	s.fields(t, properties, &required)
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = required
	}
	return ref(name)
}

// fields adds the members of t, including those of embedded structs.
func (s *schemas) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			s.fields(f.Type, properties, required)
			continue
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		p := s.of(f.Type)
		optional := strings.Contains(options, "omit")
		if f.Type.Kind() == reflect.Pointer && !optional {
			p = object{"anyOf": []any{p, object{"type": "null"}}}
		}
		if said := s.said[strings.TrimPrefix(t.PkgPath(), module)+"."+t.Name()+"."+f.Name]; said != "" {
			p["description"] = said
		}
		properties[tag] = p
		if !optional {
			*required = append(*required, tag)
		}
	}
}

// readComments reads the comments of all packages under dir.
func (s *schemas) readComments(root, dir string) error {
	return filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		at, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				s.note(path.Clean(filepath.ToSlash(at)), g)
			}
			return true
		})
		return nil
	})
}

func (s *schemas) note(pkg string, g *ast.GenDecl) {
	for _, spec := range g.Specs {
		ts, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		key := pkg + "." + ts.Name.Name
		s.said[key] = sentence(g.Doc.Text() + ts.Doc.Text())
		st, ok := ts.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range st.Fields.List {
			said := sentence(f.Doc.Text() + f.Comment.Text())
			for _, name := range f.Names {
				s.said[key+"."+name.Name] = said
			}
		}
	}
}

// sentence returns a comment as a single line.
func sentence(s string) string { return strings.Join(strings.Fields(s), " ") }
