// Package bundle defines sessions that an agent keeps in several files, and
// which paths such files may have.
package bundle

import "github.com/sesslog/sesslog/core"

// A Bundler is a core.Dialect whose agent keeps one session in several files: a main
// file, and companions such as transcripts of sub-agents and outputs of tools.
// In the log such a session is one list of entries like any other, from which
// every file is restored byte for byte. The caller does all I/O.
//
// Paths are slash-separated. The caller rejects, with CheckPath, paths that
// leave the agent's home.
type Bundler interface {
	core.Dialect

	// Bundles groups the files of a folder into sessions. paths are relative to
	// the folder; they may begin anywhere above or inside the agent's home. read
	// returns the beginning of a file, up to 64 KiB, or nil if it cannot be
	// read. A path may belong to several bundles, or to none. A bundle without
	// Main has files that the agent keeps and that belong to no session.
	Bundles(paths []string, read func(path string) []byte) []Bundle

	// Pack makes one session of a bundle's files. main is the path of the main
	// file among them. The same files always give the same entries, and files
	// that grew give the earlier entries and more. Returns core.ErrInvalid if the
	// files are not a session of this dialect. File reads the lines of the
	// result, header first: so several files travel as one.
	Pack(main string, files []File) (*core.File, error)

	// Unpack returns the files of a session as the agent keeps them below its
	// home if it works in cwd. If cwd is empty, it is that of the header.
	// Returns core.ErrInvalid if the entries name a path outside the agent's home.
	Unpack(h core.Header, es []core.Entry, cwd string) ([]File, error)
}

// A Packer is a Bundler whose agent only adds to the files of a session, so that
// they can be followed while the agent writes them.
type Packer interface {
	Bundler

	// Begin is Pack for files to which the agent adds. It also returns what
	// packs the rest of them.
	Begin(main string, files []File) (*core.File, Packing, error)

	// Scope returns the directory outside of which no file belongs to the session
	// of a main file; "." for any file of the agent's sessions directory, to
	// which both paths are relative.
	Scope(main string) string

	// Whole reports whether the file at path has no lines: it is added as a
	// whole each time it has changed.
	Whole(path string) bool
}

// A Packing packs the rest of the files of a session. It is not safe for
// concurrent use.
type Packing interface {
	// Add returns the entries of data, which follows what was added of the file
	// at path, line by line. Data that does not end with a newline is the end of
	// the file: if the line grows later, the caller adds it again from its
	// beginning. ok is false if only Begin can tell what the file is.
	Add(path string, data []byte) (es []core.Entry, ok bool, err error)
}

// A Bundle names the files of one session.
type Bundle struct {
	Main  string   // the path of the main file
	Files []string // all paths, Main included
}

// A File is one file of a session.
type File struct {
	Path string
	Data []byte
}
