package codex

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// The files of Codex's home that are no rollouts. Only the index says something
// of a session: the name that a user gave it. Codex makes both again.
const (
	indexFile   = "session_index.jsonl"
	historyFile = "history.jsonl"
)

func isFileCalled(path, name string) bool {
	return path == name || strings.HasSuffix(path, "/"+name)
}

// isOther reports whether a file, which begins with data, belongs to Codex but
// to no session.
func isOther(path string, data []byte) bool {
	switch {
	case isFileCalled(path, indexFile):
		return bytes.HasPrefix(data, []byte(`{"id":`))
	case isFileCalled(path, historyFile):
		return bytes.HasPrefix(data, []byte(`{"session_id":`))
	}
	return false
}

// mentions reports whether an index may name thread. data is its beginning.
func mentions(data []byte, thread string) bool {
	return len(data) >= headerBytes || bytes.Contains(data, []byte(thread))
}

// namedIn returns the entry that names the session of thread as the index does,
// or nothing if the index has no name for it.
func namedIn(files []bundle.File, thread string) []core.Entry {
	i := slices.IndexFunc(files, func(f bundle.File) bool { return isFileCalled(f.Path, indexFile) })
	if i < 0 || !bytes.Contains(files[i].Data, []byte(thread)) {
		return nil
	}
	var found []byte
	for _, line := range jsonl.Numbered(files[i].Data) {
		if bytes.Contains(line, []byte(thread)) && member(line, "id").Is(thread) {
			found = line
		}
	}
	name := memberText(jsjson.Value(found), "thread_name")
	if name == "" || len(name) > maxName {
		return nil
	}
	var w envelope.Writer
	f := core.Fields{ID: w.ID("name", indexFile, found), Time: jsonl.Clip(memberText(found, "updated_at"), maxID)}
	e, err := Dialect{}.Fill(Dialect{}.NewName(name), f)
	if err != nil {
		return nil
	}
	return []core.Entry{e}
}

// maxName is the longest name that is taken from an index, in bytes.
const maxName = 4096
