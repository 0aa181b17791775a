package claude

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/newid"
)

// Where the files of a session are in the log. They are named without the
// session's id, which the agent may change by renaming the files.
const (
	mainPath   = "main.jsonl"
	companions = "files/"  // below the folder <id>
	neighbors  = "beside/" // next to the main file, where old versions put sub-agents
)

// mainOf is the file of an entry that is no envelope.
func mainOf(core.Entry) string { return mainPath }

const suffix = ".jsonl"

// longestFolder is how long the name of a folder may be before it is cut and
// gets a hash.
const longestFolder = 200

// Folder is the name of the folder in projects/ for sessions in cwd, whose
// symbolic links the caller has resolved.
func Folder(cwd string) string {
	units := utf16.Encode([]rune(cwd))
	b := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash*31 + int32(u)
		b[i] = '-'
		if u < 0x80 && isAlphanumeric(byte(u)) {
			b[i] = byte(u)
		}
	}
	if len(b) <= longestFolder {
		return string(b)
	}
	n := int64(hash)
	return string(b[:longestFolder]) + "-" + strconv.FormatInt(max(n, -n), 36)
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// FileName returns the folder and the name of the main file.
func (Dialect) FileName(h core.Header) (dir, file string) {
	dir = Folder(h.CWD)
	if dir == "" {
		dir = "-"
	}
	return dir, fileID(h.ID) + suffix
}

// fileID is the session's id, fit for a file name.
func fileID(id string) string { return string(core.SessionIDFor(name, id)) }

// inLog returns the path in the log of a file of the session whose main file is
// main.
func inLog(main, file string) string {
	if file == main {
		return mainPath
	}
	if rest, ok := strings.CutPrefix(file, strings.TrimSuffix(main, suffix)+"/"); ok {
		return companions + rest
	}
	return neighbors + path.Base(file)
}

// onDisk is the inverse of inLog for a session's id, below the project's folder.
// ok is false for a path that inLog does not make.
func onDisk(id, file string) (string, bool) {
	if file == mainPath {
		return id + suffix, true
	}
	if rest, ok := strings.CutPrefix(file, companions); ok {
		return id + "/" + rest, true
	}
	rest, ok := strings.CutPrefix(file, neighbors)
	return rest, ok && !strings.Contains(rest, "/") && !newid.IsUUID(strings.TrimSuffix(rest, suffix))
}
