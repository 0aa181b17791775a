package join

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// Members in which agents name an entry's parent, and other entries.
var (
	parents    = map[string]bool{"parentId": true, "parent_id": true}
	references = map[string]bool{
		"targetId": true, "target_id": true,
		"firstKeptEntryId": true, "first_kept_entry_id": true,
		"fromId": true, "from_id": true,
	}
)

// readdress returns line with the values of its id and its parent replaced, and
// of what it names by ids that are in named. Members that are not there are not
// added, and what is empty here is not replaced. All other bytes stay.
func readdress(line []byte, id, parent string, named map[string]string) []byte {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return line
	}
	var out []byte
	kept := 0 // bytes of line that are in out
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return line
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return line
		}
		to, ok := newValue(name, v, id, parent, named)
		if !ok {
			continue
		}
		end := int(d.InputOffset())
		out = append(out, line[kept:end-len(v)]...)
		out = esjson.AppendString(out, to)
		kept = end
	}
	return append(out, line[kept:]...)
}

// newValue is what the member called name is to say instead of v, and whether
// it is to say anything else.
func newValue(name string, v jsontext.Value, id, parent string, named map[string]string) (string, bool) {
	old, isText := core.Text(v)
	to := ""
	switch {
	case name == "id":
		to = id
	case parents[name]:
		to = parent
	case references[name] && isText:
		to = named[old]
	}
	return to, to != "" && (!isText || to != old)
}
