package convert

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// The members in which agents name an entry, its parent, and other entries.
var (
	idMembers        = map[string]bool{"id": true, "uuid": true}
	parentMembers    = map[string]bool{"parentId": true, "parent_id": true, "parentUuid": true, "logicalParentUuid": true}
	referenceMembers = map[string]bool{
		"targetId": true, "target_id": true,
		"firstKeptEntryId": true, "first_kept_entry_id": true,
		"fromId": true, "from_id": true,
	}
)

// rewriteIDs returns the line of e with its id and its parent replaced, and each
// reference to a key of renamed replaced by its value. It adds no members, an
// empty id or parent replaces nothing, and all other bytes stay.
func rewriteIDs(e core.Entry, id, parent string, renamed map[string]string) []byte {
	line := e.Line
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return line
	}
	var out []byte
	copied := 0 // bytes of line that are in out
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
		to, ok := replacement(e, name, v, id, parent, renamed)
		if !ok {
			continue
		}
		end := int(d.InputOffset())
		out = append(out, line[copied:end-len(v)]...)
		out = jsjson.AppendString(out, to)
		copied = end
	}
	return append(out, line[copied:]...)
}

// replacement returns the new value of the member of e called name, whose value is
// v. ok is false if the member stays as it is.
func replacement(e core.Entry, name string, v jsontext.Value, id, parent string, renamed map[string]string) (to string, ok bool) {
	old, isText := jsonline.Text(v)
	switch {
	case idMembers[name] && old == e.ID:
		to = id
	case parentMembers[name] && old == e.Parent:
		to = parent
	case referenceMembers[name] && isText:
		to = renamed[old]
	}
	return to, to != "" && (!isText || to != old)
}
