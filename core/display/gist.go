package display

import "encoding/json"

// gists are the arguments that say what a call is about, by the names that agents'
// tools have in common.
var gists = []string{"command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description", "prompt"}

// Gist returns the argument that says what a call of a tool is about, or all
// arguments.
func Gist(args json.RawMessage) string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(args, &members) // of other forms there is no gist
	for _, name := range gists {
		var s string
		if json.Unmarshal(members[name], &s) == nil && s != "" {
			return s
		}
	}
	return string(args)
}
