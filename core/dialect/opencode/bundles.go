package opencode

import (
	"bytes"
	"cmp"
	"path"
	"strings"

	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
)

// A form is what a file of opencode is.
type form int

const (
	noForm form = iota
	events      // a list of events
	export      // what opencode export writes
)

// headerBytes is how much of a file says what it is.
const headerBytes = 64 << 10

// formOf returns what a file is that begins with data, and whose session.
func formOf(data []byte) (form, string) {
	data = bytes.TrimLeft(data[:min(len(data), headerBytes)], " \t\r\n")
	for _, name := range []string{"aggregate_id", "aggregateID"} {
		if id := firstText(data, name); bytes.HasPrefix(data, []byte("[")) && id != "" {
			return events, id
		}
	}
	rest, _ := cutToken(data, "{")
	if rest, ok := cutToken(rest, `"info"`); ok {
		if rest, ok = cutToken(rest, ":"); ok && bytes.HasPrefix(rest, []byte("{")) {
			if id := firstText(rest, "id"); strings.HasPrefix(id, idPrefix) {
				return export, id
			}
		}
	}
	return noForm, ""
}

// cutToken returns data without token and the white space after it.
func cutToken(data []byte, token string) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(token))
	return bytes.TrimLeft(rest, " \t\r\n"), ok
}

// firstText returns the first string in data that is a member called name, if it
// is fit for an id.
func firstText(data []byte, name string) string {
	_, rest, _ := bytes.Cut(data, []byte(`"`+name+`"`))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if rest, ok := cutToken(rest, ":"); ok {
		if rest, ok = bytes.CutPrefix(rest, []byte(`"`)); ok {
			value, _, ended := bytes.Cut(rest, []byte(`"`))
			if ended && len(value) <= maxID && !bytes.ContainsRune(value, '\\') {
				return strings.ToValidUTF8(string(value), "")
			}
		}
	}
	return ""
}

// Detect reports whether data begins like a list of events or an export, or is a
// session of opencode as the log has it.
func (Dialect) Detect(data []byte) bool {
	if envelope.IsPacked(dialectName, data) {
		return true
	}
	is, _ := formOf(data)
	return is != noForm
}

// Bundles groups lists of events and exports by folder and session. The main file
// is the list of events if there is one. Of several files of one form each is a
// session that is imported by itself. Sub-agents have sessions of their own.
func (Dialect) Bundles(paths []string, read func(path string) []byte) []bundle.Bundle {
	type key struct {
		dir, id string
		nth     int // of the files of this form
	}
	var order []key
	forms := map[key][export + 1]string{}
	for _, p := range paths {
		if !strings.HasSuffix(p, ".json") {
			continue
		}
		is, id := formOf(read(p))
		if is == noForm {
			continue
		}
		k := key{dir: path.Dir(p), id: id}
		for forms[k][is] != "" {
			k.nth++
		}
		files, known := forms[k]
		if !known {
			order = append(order, k)
		}
		files[is] = p
		forms[k] = files
	}
	all := make([]bundle.Bundle, len(order))
	for i, k := range order {
		for _, p := range forms[k] {
			if p == "" {
				continue
			}
			all[i].Main = cmp.Or(all[i].Main, p)
			all[i].Files = append(all[i].Files, p)
		}
	}
	return all
}
