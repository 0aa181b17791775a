package jsonl

import (
	"bytes"
	"encoding/json"
)

// gluedTries is how many places in a line are tried for an object.
const gluedTries = 64

// Glued returns the JSON objects in a line that is not one itself, such as several
// that were written without a newline between them, or one after an incomplete one.
// An object begins with one of starts.
func Glued(line []byte, starts ...string) (objects [][]byte) {
	for range gluedTries {
		at := -1
		for _, s := range starts {
			if i := bytes.Index(line, []byte(s)); i >= 0 && (at < 0 || i < at) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		line = line[at:]
		var object json.RawMessage
		if json.NewDecoder(bytes.NewReader(line)).Decode(&object) != nil {
			line = line[1:]
			continue
		}
		objects = append(objects, line[:len(object):len(object)])
		line = line[len(object):]
	}
	return objects
}
