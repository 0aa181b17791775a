package durablestreams

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
)

// subscriptions is where subscriptions are served. Each is a stream of JSON values itself,
// so its state is the same on all nodes, and survives them.
const subscriptions = "__ds/subscriptions/"

// maxLinks bounds the streams of a subscription. Others that match its pattern are left out.
const maxLinks = 1000

// The types of subscriptions.
const (
	byWebhook = "webhook"
	byPull    = "pull-wake"
)

// A wanted is what a caller asks a subscription to be.
type wanted struct {
	Type        string   `json:"type"`
	Pattern     string   `json:"pattern,omitempty"`
	Streams     []string `json:"streams,omitempty"` // sorted
	Webhook     *webhook `json:"webhook,omitempty"`
	WakeStream  string   `json:"wake_stream,omitempty"`
	Lease       int64    `json:"lease_ttl_ms"`
	Description string   `json:"description,omitempty"`
}

type webhook struct {
	URL string `json:"url"`
}

// A link is a stream of a subscription.
type link struct {
	Explicit bool  `json:"explicit,omitempty"` // it was named; else it matches the pattern
	Acked    int64 `json:"acked"`              // the offset up to which it is done
}

// A lease is the work that a subscription has, and who does it.
type lease struct {
	Generation int64     `json:"generation"`         // counts the wakes
	Wake       string    `json:"wake,omitempty"`     // the id of the wake; empty if there is no work
	Token      string    `json:"token,omitempty"`    // the digest of what the worker shows
	Former     string    `json:"former,omitempty"`   // that of the worker before
	Holder     string    `json:"holder,omitempty"`   // the worker that claimed it
	Until      time.Time `json:"until,omitzero"`     // when the worker has lost it
	Failures   int       `json:"failures,omitempty"` // of the webhook, in a row
	NotBefore  time.Time `json:"notBefore,omitzero"` // of the next wake
}

// A subscription is what the values of its stream come to.
type subscription struct {
	wanted
	base    string // of the URLs that it gives away
	created time.Time
	changed time.Time // the last time
	links   map[string]link
	lease   lease

	folded int // entries
}

// A change is one value of a subscription's stream.
type change struct {
	Created *wanted          `json:"created,omitempty"`
	Base    string           `json:"base,omitempty"`
	Links   map[string]*link `json:"links,omitempty"` // nil: it is no longer part
	Lease   *lease           `json:"lease,omitempty"`
}

// line returns c as a line of the stream.
func (c change) line() *bytestream.Line {
	b, _ := json.Marshal(c) // it cannot fail
	l := bytestream.NewValues([]json.RawMessage{b})
	return &l
}

// add folds the entries that were not folded yet. Values of others are ignored.
func (s *subscription) add(es []core.Entry) {
	for ; s.folded < len(es); s.folded++ {
		l, err := bytestream.ReadLine(es[s.folded].Line)
		if err != nil {
			continue
		}
		at, _ := time.Parse(time.RFC3339, l.Time)
		for _, v := range l.JSON {
			var c change
			if json.Unmarshal(v, &c) == nil {
				s.apply(c, at)
			}
		}
	}
}

func (s *subscription) apply(c change, at time.Time) {
	if c.Created != nil && s.created.IsZero() && c.Created.check() == nil {
		s.wanted, s.base, s.created, s.links = *c.Created, c.Base, at, map[string]link{}
	}
	s.changed = at
	for path, l := range c.Links {
		switch _, has := s.links[path]; {
		case checkPath(path) != nil: // another program wrote it
		case l == nil:
			delete(s.links, path)
		case s.links != nil && (has || len(s.links) < maxLinks):
			s.links[path] = *l
		}
	}
	if c.Lease != nil {
		s.lease = *c.Lease
	}
}

// size is about how many bytes the subscription takes.
func (s *subscription) size() int64 { return int64(100 * len(s.links)) }

func (s *subscription) ttl() time.Duration { return time.Duration(s.Lease) * time.Millisecond }

// matches reports whether a stream belongs to the subscription. The stream of its wakes
// does not: each wake would make another one.
func (s *subscription) matches(path string) bool {
	return s.Pattern != "" && path != s.WakeStream && !isReserved(path) && matchGlob(s.Pattern, path)
}

// free returns the lease after its work was done or given up.
func (l lease) free() lease {
	return lease{Generation: l.Generation, Token: l.Token, Former: l.Former}
}

// A shown is what callers see of a subscription.
type shown struct {
	ID      string `json:"id"`
	Again   string `json:"subscription_id"`
	Status  string `json:"status"`
	Created string `json:"created_at"`
	wanted
	Streams []shownLink   `json:"streams"`
	Webhook *shownWebhook `json:"webhook,omitempty"`
}

type shownLink struct {
	Path  string `json:"path"`
	Type  string `json:"link_type"`
	Acked string `json:"acked_offset"`
}

type shownWebhook struct {
	webhook
	Signing signing `json:"signing"`
}

func (s *subscription) shown(id string, k *signingKey) shown {
	out := shown{ID: id, Again: id, Status: "active", Created: stamp(s.created), wanted: s.wanted, Streams: []shownLink{}}
	if s.lease.Failures > 0 || len(s.links) >= maxLinks {
		out.Status = "failed"
	}
	for _, path := range slices.Sorted(maps.Keys(s.links)) {
		out.Streams = append(out.Streams, s.links[path].shown(path))
	}
	if s.wanted.Webhook != nil {
		out.Webhook = &shownWebhook{*s.wanted.Webhook, k.describe(s.base)}
	}
	return out
}

func (l link) shown(path string) shownLink {
	kind := "glob"
	if l.Explicit {
		kind = "explicit"
	}
	return shownLink{path, kind, formatOffset(l.Acked)}
}

const minLease, maxLease, defaultLease = 1000, 600_000, 30_000

// readWanted reads the body of a request for a subscription.
func readWanted(body []byte) (wanted, error) {
	q := wanted{Lease: defaultLease}
	if err := readObject(body, &q); err != nil {
		return q, err
	}
	q.Pattern, q.WakeStream = trimPath(q.Pattern), trimPath(q.WakeStream)
	var err error
	if q.Streams, err = trimPaths(q.Streams); err != nil {
		return q, err
	}
	if q.Type == byWebhook {
		q.WakeStream = ""
	} else {
		q.Webhook = nil
	}
	return q, q.check()
}

// check returns why q cannot be had, or nil. A subscription that another program wrote to
// the log is checked, too.
func (q *wanted) check() error {
	switch {
	case q.Type != byWebhook && q.Type != byPull:
		return invalid(`type %.20q: use "webhook" or "pull-wake"`, q.Type)
	case q.Pattern == "" && len(q.Streams) == 0:
		return invalid("name streams, or a pattern")
	case len(q.Pattern) > maxPath || strings.Count(q.Pattern, "**") > maxRecursive || len(q.Description) > maxHeader:
		return invalid("the pattern or the description is too long")
	case q.Lease < minLease || q.Lease > maxLease:
		return invalid("lease_ttl_ms is %d to %d", minLease, maxLease)
	case q.Type == byWebhook && (q.Webhook == nil || q.Webhook.URL == ""):
		return invalid("a webhook subscription needs webhook.url")
	case q.Type == byPull && checkPath(q.WakeStream) != nil:
		return invalid("a pull-wake subscription needs wake_stream, the path of a stream")
	}
	return nil
}

// readObject reads a JSON object.
func readObject(body []byte, v any) error {
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := json.Unmarshal(body, v); err != nil {
		return invalid("the body is not the JSON object that is expected: %v", err)
	}
	return nil
}

func trimPath(path string) string { return strings.Trim(path, "/") }

// trimPaths returns the paths of streams, sorted and without repetitions.
func trimPaths(paths []string) ([]string, error) {
	if len(paths) > maxLinks {
		return nil, invalid("%d streams, at most %d can be named", len(paths), maxLinks)
	}
	var out []string
	for _, p := range paths {
		p = trimPath(p)
		if checkPath(p) != nil {
			return nil, invalid("streams: %.200q is not the path of a stream", p)
		}
		out = append(out, p)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (q *wanted) equals(other *wanted) bool { return reflect.DeepEqual(q, other) }

// The codes of errors.
const (
	codeInvalid  = "INVALID_REQUEST"
	codeNone     = "SUBSCRIPTION_NOT_FOUND"
	codeExists   = "SUBSCRIPTION_ALREADY_EXISTS"
	codeURL      = "WEBHOOK_URL_REJECTED"
	codeToken    = "TOKEN_INVALID"
	codeFenced   = "FENCED"
	codeClaimed  = "ALREADY_CLAIMED"
	codeNoWork   = "NO_PENDING_WORK"
	codeOffset   = "INVALID_OFFSET"
	codeInternal = "UNAVAILABLE"
)

func refuseAs(code string, status int, format string, args ...any) *refusal {
	e := refuse(status, format, args...)
	e.code = code
	return e
}

func invalid(format string, args ...any) *refusal {
	return refuseAs(codeInvalid, http.StatusBadRequest, format, args...)
}

func errNoSubscription() *refusal {
	return refuseAs(codeNone, http.StatusNotFound, "there is no such subscription")
}
