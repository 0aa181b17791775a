package follow

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// mask returns lines of f as they may leave the host. Those of a packed session were
// masked when they were packed.
func (fl *Follower) mask(f *file, lines []byte) []byte {
	if _, masked := f.source.(*packed); masked {
		return lines
	}
	return fl.cfg.Secrets.Mask(lines)
}

// reportSecrets reports entries that have what looks like a secret, without it.
func (fl *Follower) reportSecrets(f *file, es []core.Entry) {
	for i := range es {
		for _, found := range fl.cfg.Secrets.Report(es[i].Line) {
			fl.notify(Notice{Kind: Secret, Path: f.path, Session: f.place.Session, Head: f.place.Head, Text: fmt.Sprintf(
				"entry %s of session %s has what looks like a secret (%s); remove it with: sessctl redact %s %s",
				entryNames(es[i:i+1]), f.place.Session, found.Rule, f.place.Session, es[i].ID)})
		}
	}
}
