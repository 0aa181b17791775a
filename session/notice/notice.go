package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// A Kind is what happened.
type Kind string

// The kinds of notices.
const (
	TakenOver Kind = "session.taken_over" // another writer claimed main while a writer held it
	Split     Kind = "session.split"      // a head was added beside the others
	Waiting   Kind = "session.waiting"    // the agent ended its turn, and waits for its user
)

// A Notice is one thing that happened to a session. It has no text of the session,
// except its name.
type Notice struct {
	// ID is the same for the same event, whichever process derives it.
	ID      string         `json:"-"`
	Kind    Kind           `json:"-"`
	Time    time.Time      `json:"-"`
	Session core.SessionID `json:"session"`
	Agent   string         `json:"agent"` // the dialect
	Name    string         `json:"name,omitempty"`
	CWD     string         `json:"cwd,omitempty"`
	Text    string         `json:"text"`             // one sentence for people
	Head    string         `json:"head"`             // Split: the new one
	Holder  *core.Claim    `json:"holder,omitempty"` // of main
	Former  *core.Claim    `json:"former,omitempty"` // TakenOver: the holder before
	Entry   string         `json:"entry,omitempty"`  // Waiting: the answer
}

// Between returns what happened to a session between two of its rows. A session
// without an earlier row has the zero row before: then a turn counts only if it ended
// recently. At is the time of the notices.
func Between(before, now *catalog.Row, at time.Time) (ns []Notice) {
	if now.Deleted || before.Seq >= now.Seq {
		return nil
	}
	add := func(k Kind, detail, text string, fill func(*Notice)) {
		n := Notice{
			ID: id(now.ID, k, detail), Kind: k, Time: at.UTC(), Session: now.ID, Agent: now.Dialect, Name: now.Name, CWD: now.CWD,
			Head: core.MainHead, Holder: now.Holder, Text: text,
		}
		fill(&n)
		ns = append(ns, n)
	}
	title := titleOf(now)
	if was, is := before.Holder, now.Holder; was != nil && is != nil && was.Writer != is.Writer {
		add(TakenOver, strconv.FormatUint(is.Epoch, 10), fmt.Sprintf("%s: %s took over from %s", title, is.Name(), was.Name()), func(n *Notice) { n.Former = was })
	}
	for _, head := range now.Heads {
		if before.Seq > 0 && !slices.Contains(before.Heads, head) {
			add(Split, head, fmt.Sprintf("%s: split, lines are on the head %s beside main", title, head), func(n *Notice) { n.Head = head })
		}
	}
	if now.Waits != "" && now.Waits != before.Waits && now.Holder != nil && (before.Seq > 0 || isRecent(now, at)) {
		add(Waiting, now.Waits, fmt.Sprintf("%s: %s waits for its user", title, now.Holder.Name()), func(n *Notice) { n.Entry = now.Waits })
	}
	return ns
}

// recent is the age of a turn that is reported though the row before it is unknown.
const recent = 5 * time.Minute

// isRecent reports whether a session was modified recently. A directory that is made
// again has no earlier rows: turns that ended long ago are no news.
func isRecent(r *catalog.Row, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, r.Modified)
	return err == nil && now.Sub(at) < recent
}

// titleOf names a session for people: by its name, or by its agent and directory.
func titleOf(r *catalog.Row) string {
	if r.Name != "" {
		return r.Name
	}
	project := strings.TrimRight(r.CWD, `/\`)
	project = project[strings.LastIndexAny(project, `/\`)+1:]
	if project == "" {
		return fmt.Sprintf("%s session %.8s", r.Dialect, r.ID)
	}
	return fmt.Sprintf("%s session %.8s in %s", r.Dialect, r.ID, project)
}

func id(session core.SessionID, k Kind, detail string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", session, k, detail))
	return "msg_" + hex.EncodeToString(sum[:16])
}
