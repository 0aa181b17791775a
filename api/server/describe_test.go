package server_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

// A call describes one call of the server, except for the types of its bodies.
type call struct {
	tag, id string // the group, and the operation id for generated clients
	sum     string // one line that says what the call does
	query   []param
	header  []param // of the request
	in      any     // the body: a value of its type, or a media; nil if there is no body
	out     any     // the response body: likewise
	status  int     // of a successful response; default 200, or 204 without out
	back    []string
	tagged  bool // the response has an ETag
	open    bool // requires no token
}

// A media is a body that is not JSON.
type media struct {
	kind string
	said string
	each any // a value of the type of each line or event, if that is JSON
	head any // a value of the type of its first line, likewise
}

// A param is a query parameter or a header.
type param struct {
	name, said string
	schema     object
	required   bool
}

func text(name, said string) param { return param{name, said, object{"type": "string"}, false} }

func yes(name, said string) param { return param{name, said, object{"type": "boolean"}, false} }

// number describes an optional numeric parameter.
func number(name, said string) param { return param{name, said, object{"type": "number"}, false} }

func upTo(name, said string, most, usual int) param {
	return param{name, said, object{"type": "integer", "minimum": 1, "maximum": most, "default": usual}, false}
}

func oneOf(name, said string, words ...string) param {
	return param{name, said, object{"type": "string", "enum": words}, false}
}

func must(p param) param {
	p.required = true
	return p
}

func with(groups ...[]param) (all []param) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

const (
	ndjson = "application/x-ndjson"
	events = "text/event-stream"
	octets = "application/octet-stream"
)

// Parameters that several calls share.
var (
	cursorText = text("after", "A cursor. Returns records after it.")

	demand = []param{
		text("seen", "A cursor. The answer includes the record that it names; the node waits for that record for up to five seconds."),
		yes("strict", "If true, the answer includes every write that was acknowledged before the request. A quorum of the log's servers confirms this."),
	}
	moment = []param{text("at", "A moment in the past: the number of a record, a cursor, or entry:ID for the record that added that entry. Default: now.")}
	view   = []param{
		text("head", "The head to read; default main."),
		text("leaf", "The id of the entry to read from, or null for the position before all entries. Takes precedence over head."),
	}
	window = []param{
		oneOf("images", "false: return large images as references, such as blob:sha256:..., not as base64. A text of the agent that begins with blob: then begins with blob:keep:.", "false"),
		{"from", "The first entry to return; the first of all is 0. A negative number counts from the end: from=-100 returns the last 100 entries. Use at for windows of one moment.", object{"type": "integer"}, false},
		{"limit", "The maximum number of entries; default all.", object{"type": "integer", "minimum": 1}, false},
	}
	profile = []param{text("profile", "The agent whose rules apply when the session is read, such as omp or pi@0.73.")}

	filter = []param{
		text("prefix", "A prefix of the session id, or of the agent's own id."),
		text("cwd", "The agent's working directory, as the agent wrote it."),
		yes("below", "With cwd: include its subdirectories."),
		text("dialect", "The dialect of the sessions, such as pi."),
		text("holder", "The holder of one of the session's heads: the claim's agent, host, by or writer."),
		{"tag", "A tag of the session. If repeated, the session must have all of them.", object{"type": "array", "items": object{"type": "string"}, "maxItems": 16}, false},
		text("label", "The label of one of the session's entries."),
		text("name", "Part of the name. Case-insensitive."),
		text("text", "Part of the name or of the first message. Case-insensitive."),
		text("fuzzy", "Words, each of whose characters are in that order in the name and the first message. Case-insensitive, up to 64 bytes."),
		oneOf("state", "The state of the session.", words(catalog.States)...),
		yes("deleted", "List the trash instead."),
		text("modifiedFrom", "Modified at or after this time: 2026-01-02T03:04:05Z, or a date."),
		text("modifiedTo", "Modified at or before this time."),
		text("createdFrom", "Created at or after this time."),
		text("createdTo", "Created at or before this time."),
		number("minSize", "The minimum size of the session's lines, in bytes."),
		number("maxSize", "The maximum size of the session's lines, in bytes."),
		number("minCost", "The minimum cost, as counted by the agent."),
		number("maxCost", "The maximum cost, as counted by the agent."),
	}
	order = []param{
		oneOf("sort", "The sort key; default modified.", words(catalog.Sorts)...),
		oneOf("order", "The sort order. Names default to asc, all other keys to desc.", "asc", "desc"),
	}

	onHead   = text(api.HeaderHead, "The head to write to; default main.")
	asWriter = text(api.HeaderWriter, "The writer of the claim to write under. The request is fenced if that claim no longer holds the head. Without this header, it is fenced while any writer holds the head.")
	idemKey  = text(api.HeaderIdempotency, "A key that makes retries safe: lines without ids get ids derived from it, and a repeated creation or fork returns the first result. At most 4 KiB.")
	origin   = text(api.HeaderLineage, "off: the new session does not say where it came from. A header among the lines of the body stays.")
	ifMatch  = text("If-Match", "A cursor. The request fails if the head moved after it.")
	ifHead   = text(api.HeaderHead, "With If-Match: check only that this head has not moved. Other changes to the session are allowed.")
	ifSame   = text("If-Match", "A cursor. The request fails if the session changed after it, unless the log has the content already. For an import, 0 means that the session must not exist.")
	lastID   = text("Last-Event-ID", "The id of the last event received. The stream continues after it. Takes precedence over after.")

	conflict = []param{
		oneOf("onConflict", "What to do if another writer wrote first; default fail.", "fail", "rebase", "branch"),
		text("branch", "The name of the head that onConflict=branch creates; default a generated name."),
	}
)

var importQuery = []param{
	text("dialect", "The dialect of the file; default detected from the content."), text("by", "The user or program that imports the file."),
	text("parent", "For a new session: its parent session in the log, if the caller knows more than the file's header says."),
	text("kind", "The relation of the new session to its parent."),
	oneOf("onConflict", "What to do if the file and the session in the log have diverged; default fail.", "fail", "branch"), conflict[1],
}

func words[T ~string](names []T) (out []string) {
	for _, n := range names {
		out = append(out, string(n))
	}
	return out
}

// Bodies that several calls share.
var (
	entryLines = media{ndjson, "Entry lines, byte for byte, each terminated by a newline.", nil, nil}
	fileBytes  = media{ndjson, "The agent's file, byte for byte.", nil, nil}
	blobBytes  = media{octets, "The bytes. The node verifies them while sending: a response that is not cut short is intact.", nil, nil}
	written    = media{octets, "The bytes.", nil, nil}
	partList   = media{api.PartsType, "A Parts: the digests of the content's parts, which are stored as blobs.", api.Parts{}, nil}
	asJSON     = media{"application/json", "An object, as the durable-streams protocol has it.", nil, nil}
	plainText  = media{"text/plain", "A word or a sentence.", nil, nil}
)

// calls describes all calls of a server.
var calls = map[string]call{
	"GET /healthz":      {tag: "node", id: "health", sum: "Check that the process is alive", out: plainText, open: true},
	"GET /readyz":       {tag: "node", id: "ready", sum: "Check whether the node can serve requests, and why not", out: plainText, open: true},
	"GET /openapi.json": {tag: "node", id: "describe", sum: "Get this description", out: json.RawMessage{}, open: true},
	"GET /v1/status":    {tag: "node", id: "status", sum: "Get a summary of the node", out: api.Status{}},
	"GET /v1/doctor":    {tag: "node", id: "examine", sum: "Run all health checks", out: report.Examination{}},
	"POST /v1/doctor":   {tag: "node", id: "treat", sum: "Run all health checks, and repair what can be rebuilt from the log", out: report.Examination{}},
	"GET /v1/rebuild":   {tag: "node", id: "toRebuild", sum: "Show the data that the node derives from the log", out: api.Rebuilt{}},
	"POST /v1/rebuild":  {tag: "node", id: "rebuild", sum: "Drop the data derived from the log and rebuild it", out: api.Rebuilt{}},
	"GET /v1/verify":    {tag: "node", id: "verifyLog", sum: "Verify the log as a whole, and list all its sessions", out: api.LogReport{}},
	"GET /v1/audit": {
		tag: "node", id: "audit", sum: "List what operators did, oldest first", out: api.AuditPage{},
		query: []param{text("since", "Records stored at or after this time, RFC 3339."), {"after", "The number of a record. Returns records after it.", object{"type": "integer", "minimum": 0}, false}},
	},

	"GET /v1/whoami":                 {tag: "tokens", id: "whoami", sum: "Show the caller's permissions", out: api.Whoami{}},
	"GET /v1/tokens":                 {tag: "tokens", id: "tokens", sum: "List tokens without their secrets, oldest first", out: api.TokenList{}},
	"POST /v1/tokens":                {tag: "tokens", id: "createToken", sum: "Create a token; only this answer contains its secret", in: api.TokenRequest{}, out: access.Issued{}, status: 201},
	"POST /v1/tokens/{token}/rotate": {tag: "tokens", id: "rotateToken", sum: "Give a token a new secret", in: api.RotateRequest{}, out: access.Issued{}},
	"DELETE /v1/tokens/{token}": {
		tag: "tokens", id: "revokeToken", sum: "Revoke a token permanently", out: access.Token{},
		query: []param{text("by", "The user who revokes the token."), text("host", "The host of that user."), text("why", "The reason.")},
	},

	"GET /v1/shares": {
		tag: "tokens", id: "shares", sum: "List share links without their secrets, oldest first", out: api.ShareList{},
		query: []param{text("session", "Only those of this session.")},
	},
	"POST /v1/sessions/{id}/shares": {
		tag: "tokens", id: "share", sum: "Create a share link; only this answer contains its secret", in: api.ShareRequest{}, out: access.Issued{}, status: 201,
	},
	"DELETE /v1/sessions/{id}/shares/{token}": {
		tag: "tokens", id: "unshare", sum: "Revoke a share link permanently", out: access.Token{},
		query: []param{text("by", "The user who revokes the link."), text("host", "The host of that user."), text("why", "The reason.")},
	},
	"GET /v1/shared": {tag: "tokens", id: "shared", sum: "Show what the caller's share link shows", out: api.Shared{}, back: []string{api.HeaderCursor}},
	"GET /v1/shared/entries": {
		tag: "tokens", id: "sharedEntries", sum: "Read the entry lines that the caller's share link shows", out: entryLines, back: []string{api.HeaderCursor, api.HeaderRange},
		query: append([]param{text("leaf", "The last entry to return; it must be one that the link shows.")}, window...),
	},
	"GET /v1/shared/events": {
		tag: "tokens", id: "sharedEvents", sum: "Follow changes of what the caller's share link shows", header: []param{lastID}, query: []param{cursorText},
		out: media{events, "One event per change, without its content.", api.Event{}, nil},
	},

	"GET /v1/sessions": {
		tag: "sessions", id: "list", sum: "List sessions, most recently modified first", out: api.List{},
		query: with(filter, order, []param{upTo("limit", "The maximum number of results.", 10000, 1000), text("after", "The next value of the previous page, or a session id.")}),
	},
	"POST /v1/sessions": {
		tag: "sessions", id: "create", sum: "Create a session: empty, or from all its lines", out: api.Created{}, status: 201, back: []string{"Location"},
		header: []param{idemKey, origin}, in: []any{api.Create{}, media{ndjson, "The header line, then entry lines. Each has a unique id, and its parent is null or an earlier entry.", nil, nil}},
		query: []param{text("dialect", "If the body is lines: their dialect; default pi."), text("by", "If the body is lines: the user or program that creates the session.")},
	},
	"GET /v1/sessions/changes": {
		tag: "following", id: "changes", sum: "Follow changes to the session list", out: media{events, "Events row and gone, each with a mark as its id. An event problem ends the stream.", api.RowChange{}, nil},
		query: with(filter, order, []param{text("after", "A mark. Returns changes after it; default now.")}), header: []param{lastID},
	},
	"GET /v1/events": {
		tag: "following", id: "followMany", sum: "Follow the records of several sessions: by id, by filter, or all", header: []param{lastID},
		query: with([]param{
			{"session", "A full session id. May be repeated up to 100 times. Cannot be combined with a filter.", object{"type": "array", "items": object{"type": "string"}, "maxItems": 100}, false},
			text("after", "The id of an event. Returns events after it; default now."),
		}, filter, order),
		out: media{events, "One event per record, named after the record's kind. An event lost says that records of one session could not be read. An event problem ends the stream. Each event's id is the follower's position.", []any{api.Event{}, api.FeedLoss{}}, nil},
	},
	"GET /v1/search": {
		tag: "sessions", id: "search", sum: "Search the content of sessions, newest first", out: catalog.SearchPage{},
		query: with([]param{
			must(text("q", `Search terms. An entry must match all of them. "Quoted words" match as a phrase; begin* matches a prefix of a word.`)),
			text("session", "A full session id."), text("from", "Entries written at or after this time."), text("to", "Entries written at or before this time."),
			upTo("limit", "The maximum number of results.", 1000, 50), text("before", "The next value of the previous page."),
		}, filter, order),
	},
	"POST /v1/import": {
		tag: "sessions", id: "import", sum: "Import a session file, or its parts", in: []any{fileBytes, partList}, out: api.Imported{}, header: []param{asWriter, ifSame, ifHead},
		query: importQuery,
	},
	"GET /v1/sessions/{id}":      {tagged: true, tag: "sessions", id: "info", sum: "Get a summary of a session", out: api.Info{}, query: with(profile, moment, demand)},
	"GET /v1/sessions/{id}/tree": {tagged: true, tag: "sessions", id: "tree", sum: "List the entries in display order", out: []display.TreeNode{}, query: with(profile, moment, demand), back: []string{api.HeaderCursor}},
	"GET /v1/sessions/{id}/context": {
		tag: "sessions", id: "context", sum: "Get the context as the agent's own context builder returns it", out: json.RawMessage{},
		query: with(view, profile, moment, demand), back: []string{api.HeaderCursor},
	},
	"GET /v1/sessions/{id}/diff": {
		tag: "sessions", id: "diff", sum: "Compare two paths of entries of a session, or of two sessions", out: api.Diff{},
		query: with([]param{
			text("with", "The session of the other path; default this one."), text("withHead", "The head of the other path; default main."), text("withLeaf", "The last entry of the other path."),
			{"limit", "The maximum number of entries of each path; default all.", object{"type": "integer", "minimum": 0}, false},
		}, view, demand),
	},
	"GET /v1/sessions/{id}/edits": {
		tag: "sessions", id: "edits", sum: "List what the agent's tools change in files", out: api.Edits{},
		query: with(view, demand, []param{
			{"from", "The number of the first edit, from 0; default 0. An answer has up to 10,000.", object{"type": "integer", "minimum": 0}, false},
		}),
	},
	"GET /v1/sessions/{id}/entries": {
		tagged: true, tag: "sessions", id: "entries", sum: "Read the entry lines, in the order in which they were stored", out: entryLines, back: []string{api.HeaderCursor, api.HeaderRange},
		query: with([]param{
			yes("path", "Only the entries on the path from the root to head or leaf."),
			text("custom", "Only the entries that an extension added under this name."),
		}, window, view, moment, demand),
	},
	"GET /v1/sessions/{id}/state": {
		tagged: true, tag: "sessions", id: "state", sum: "Get everything that an agent's view needs, as of one record", query: demand, back: []string{api.HeaderCursor},
		out: media{ndjson, "A State, the header line, and every entry line.", nil, api.State{}},
	},
	"GET /v1/sessions/{id}/children": {
		tagged: true, tag: "sessions", id: "children", sum: "Read the lines of an entry's children", out: entryLines, back: []string{api.HeaderCursor},
		query: with([]param{text("of", "The parent's id. Default: return the roots.")}, moment, demand),
	},
	"GET /v1/sessions/{id}/usage": {
		tag: "sessions", id: "usage", sum: "Get what a session used and cost: in all, or with head or leaf on one path", out: api.SessionUsage{},
		query: with(view, moment, demand),
	},
	"GET /v1/sessions/{id}/digest": {
		tagged: true, tag: "sessions", id: "digest", sum: "Get the digest of a session's first entries, to compare with a file", out: api.Digested{}, back: []string{api.HeaderCursor},
		query: with([]param{{"entries", "The number of entries to include; default all.", object{"type": "integer", "minimum": 0}, false}}, demand),
	},
	"GET /v1/sessions/{id}/export": {
		tagged: true, tag: "sessions", id: "export", sum: "Export the session as a file of its agent or of another", out: []any{fileBytes, written},
		query: with([]param{yes("original", "Return the imported file unchanged."), yes("packed", "Return the header and all entries as the log has them: one file for a session of which the agent keeps several."), text("as", "Convert to a file of this agent.")}, view, moment, demand),
		back:  []string{api.HeaderCursor, api.HeaderDir, api.HeaderFile, api.HeaderLost, "Content-Length"},
	},
	"GET /v1/sessions/{id}/file": {
		tagged: true, tag: "sessions", id: "file", sum: "Export the session as a file that an agent resumes at a head", out: fileBytes,
		query: with(view, demand), back: []string{api.HeaderCursor, api.HeaderDialect, api.HeaderDir, api.HeaderFile},
	},
	"GET /v1/sessions/{id}/snapshot": {
		tag: "sessions", id: "snapshot", sum: "Get the uncompressed bytes of the latest snapshot", out: media{ndjson, "Canonical JSONL, with images left as blob references.", nil, nil},
		query: demand, back: []string{api.HeaderCursor, api.HeaderSnapshot},
	},
	"GET /v1/sessions/{id}/verify":  {tag: "sessions", id: "verify", sum: "Verify a session by reading it from the log", out: api.Report{}},
	"POST /v1/sessions/{id}/repair": {tag: "sessions", id: "repair", sum: "Repair a session from other copies", out: api.Report{}, query: []param{yes("acceptLoss", "Accept that the log has lost records of the session: it can be written again.")}},
	"GET /v1/sessions/{id}/events": {
		tag: "following", id: "events", sum: "Follow a session's records, in order and without gaps", header: []param{lastID},
		query: with([]param{cursorText, yes("wait", "If false, the stream ends after the last stored record.")}, demand),
		out:   media{events, "One event per record, named after the record's kind, with its cursor as the id. An event problem ends the stream.", api.Event{}, nil},
	},
	"GET /v1/sessions/{id}/heads": {tag: "heads", id: "heads", sum: "List heads and their claims", out: api.Heads{}, query: demand, back: []string{api.HeaderCursor}},

	"POST /v1/sessions/{id}/entries": {
		tag: "writing", id: "append", sum: "Append entry lines atomically", out: core.Receipt{}, back: []string{"ETag"},
		in:     media{ndjson, "Entry lines, one JSON object each. The node fills in id, parentId and timestamp if they are absent.", nil, nil},
		header: []param{onHead, asWriter, idemKey, ifMatch}, query: conflict,
	},
	"POST /v1/sessions/{id}/labels": {
		tag: "writing", id: "label", sum: "Label an entry", in: api.LabelRequest{}, out: core.Receipt{}, back: []string{"ETag"},
		header: []param{onHead, asWriter, idemKey}, query: conflict,
	},
	"POST /v1/sessions/{id}/name": {
		tag: "writing", id: "name", sum: "Name the session", in: api.NameRequest{}, out: core.Receipt{}, back: []string{"ETag"},
		header: []param{onHead, asWriter, idemKey}, query: conflict,
	},
	"POST /v1/sessions/{id}/branch": {
		tag: "writing", id: "branch", sum: "Branch: continue from another entry", in: api.BranchRequest{}, out: core.Receipt{}, back: []string{"ETag"},
		header: []param{onHead, asWriter, idemKey, ifMatch}, query: conflict,
	},
	"PATCH /v1/sessions/{id}/entries": {
		tag: "writing", id: "amendAll", sum: "Replace lines of entries atomically", in: media{ndjson, "New lines of entries, each with the id, parent and type of its entry.", nil, nil}, out: api.Amended{},
		header: []param{onHead, asWriter, idemKey, ifSame},
	},
	"PATCH /v1/sessions/{id}/entries/{entry}": {
		tag: "writing", id: "amend", sum: "Replace an entry's line", in: media{ndjson, "The entry's new line, with the same id, parent and type.", nil, nil}, out: api.Amended{},
		header: []param{onHead, asWriter, idemKey, ifSame},
	},
	"PUT /v1/sessions/{id}/entries/{entry}/meta": {
		tag: "writing", id: "setMeta", sum: "Replace a message's channel metadata", in: json.RawMessage{}, out: api.Amended{},
		header: []param{onHead, asWriter, idemKey},
	},
	"POST /v1/sessions/{id}/reactions": {
		tag: "writing", id: "react", sum: "Add a reaction to a message", in: api.ReactionRequest{}, out: api.Amended{},
		header: []param{onHead, asWriter, idemKey},
	},
	"PUT /v1/sessions/{id}/heads/{head}": {
		tag: "heads", id: "move", sum: "Move or create a head, without an entry", in: api.MoveRequest{}, out: api.Info{}, header: []param{asWriter, ifMatch},
	},
	"POST /v1/sessions/{id}/claims":          {tag: "heads", id: "claim", sum: "Claim a head", in: core.ClaimRequest{}, out: api.Claimed{}, status: 201},
	"DELETE /v1/sessions/{id}/claims/{name}": {tag: "heads", id: "release", sum: "Release a claim", query: []param{text("head", "The head; default main.")}},
	"POST /v1/sessions/{id}/fork": {
		tag: "sessions", id: "fork", sum: "Fork: create a session from a path of this one", in: api.ForkRequest{}, out: api.Created{}, status: 201,
		header: []param{idemKey, origin}, back: []string{"Location"},
	},
	"POST /v1/sessions/{id}/merge":      {tag: "sessions", id: "merge", sum: "Merge: create a session from this one and another", in: api.MergeRequest{}, out: api.Merged{}, status: 201, back: []string{"Location"}, header: []param{idemKey, origin}},
	"POST /v1/sessions/{id}/close":      {tag: "sessions", id: "close", sum: "Record that a run ended normally", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/delete":     {tag: "sessions", id: "delete", sum: "Move the session to the trash", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/undelete":   {tag: "sessions", id: "undelete", sum: "Restore the session from the trash", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/checkpoint": {tag: "sessions", id: "checkpoint", sum: "Write a snapshot now", out: api.Snapshot{}},

	"GET /v1/holds":                 {tag: "removing", id: "holds", sum: "List sessions under legal hold", out: api.Holds{}},
	"POST /v1/sessions/{id}/hold":   {tag: "removing", id: "hold", sum: "Place a legal hold: prevent deletion, erasure and redaction", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/unhold": {tag: "removing", id: "unhold", sum: "Lift a legal hold", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/redact": {tag: "removing", id: "redact", sum: "Remove the content of entries permanently", in: api.RedactRequest{}, out: api.Redacted{}},
	"GET /v1/sessions/{id}/erase":   {tag: "removing", id: "erasable", sum: "Show what an erasure would remove", out: report.Found{}},
	"POST /v1/sessions/{id}/erase":  {tag: "removing", id: "erase", sum: "Erase a session permanently", in: api.EraseRequest{}, out: report.Receipt{}},
	"POST /v1/retention/plan":       {tag: "removing", id: "plan", sum: "Plan what a retention policy would do", in: report.Policy{}, out: report.Plan{}},
	"POST /v1/retention/apply":      {tag: "removing", id: "apply", sum: "Apply a retention plan", in: api.ApplyRequest{}, out: api.Applied{}},

	"GET /v1/presence":         {tag: "presence", id: "presence", sum: "List active writers", out: api.PresenceList{}},
	"PUT /v1/presence/{id}":    {tag: "presence", id: "beat", sum: "Report that a process is active", in: session.Presence{}},
	"DELETE /v1/presence/{id}": {tag: "presence", id: "leave", sum: "Report that a process has ended"},

	"GET /v1/lineage": {
		tag: "sessions", id: "lineage", sum: "Get the lineage graph of sessions", out: []any{api.Lineage{}, media{ndjson, "One line per session in the log, in OpenRath's export format.", nil, nil}},
		query: []param{
			text("session", "The session to start from; default all."), oneOf("direction", "The direction to follow; default both.", "ancestors", "descendants", "both"),
			oneOf("format", "The output format; default json.", "json", "jsonl"),
		},
	},
	"GET /v1/prompts": {
		tag: "sessions", id: "prompts", sum: "List the prompts of users, newest first", out: catalog.PromptPage{},
		query: []param{
			text("q", "Search terms. A prompt must match all of them; the last one may be a prefix."), text("cwd", "The agent's working directory."),
			text("session", "A full session id."), text("dialect", "The dialect of the sessions."), upTo("limit", "The maximum number of results.", 1000, 100), text("before", "The next value of the previous page."),
		},
	},

	"GET /v1/blobs": {
		tag: "blobs", id: "blobs", sum: "List blobs in order of digest", out: api.BlobList{},
		query: []param{text("after", "A digest. Returns blobs after it."), upTo("limit", "The maximum number of results.", 10000, 1000)},
	},
	"GET /v1/blobs/{digest}":         {tagged: true, tag: "blobs", id: "blob", sum: "Read a blob", out: blobBytes, back: []string{"Content-Length"}},
	"PUT /v1/blobs/{digest}":         {tag: "blobs", id: "putBlob", sum: "Store a blob from its bytes or its parts", in: []any{written, partList}},
	"GET /v1/blobs/{digest}/info":    {tag: "blobs", id: "blobInfo", sum: "Get a blob's metadata", out: api.BlobStat{}},
	"GET /v1/blobs/{digest}/verify":  {tag: "blobs", id: "verifyBlob", sum: "Verify a blob by reading it from the object store", out: api.BlobReport{}},
	"POST /v1/blobs/{digest}/repair": {tag: "blobs", id: "repairBlob", sum: "Repair a corrupt blob, if the node has a copy of its bytes", out: api.BlobReport{}},
	"POST /v1/blobs/gc":              {tag: "blobs", id: "collectBlobs", sum: "Find blobs that no session references; with apply, delete them", in: api.GCRequest{}, out: report.GC{}},

	"GET /v1/stream/{path...}": {
		tag: "streams", id: "readStream", sum: "Read a stream from an offset, or follow it, by the durable-streams protocol", tagged: true,
		query: []param{text("offset", "Where to begin: an offset, -1 for the start, or now."), oneOf("live", "Wait for new data.", "long-poll", "sse"), text("cursor", "The cursor of the previous answer.")},
		out:   media{octets, "The bytes, with the content type of the stream; events with live=sse.", nil, nil},
	},
	"PUT /v1/stream/{path...}":    {tag: "streams", id: "createStream", sum: "Create a stream", in: written, status: 201, back: []string{"Location"}},
	"POST /v1/stream/{path...}":   {tag: "streams", id: "appendStream", sum: "Append to a stream, or close it", in: written},
	"DELETE /v1/stream/{path...}": {tag: "streams", id: "deleteStream", sum: "Delete a stream"},

	"POST /v1/stream/__ds/subscriptions/{id}/callback": {tag: "streams", id: "subscriptionCallback", sum: "Acknowledge the wake of a webhook, with its token", in: written, out: asJSON, open: true},
	"POST /v1/stream/__ds/subscriptions/{id}/ack":      {tag: "streams", id: "subscriptionAck", sum: "Acknowledge a claimed wake, with its token", in: written, out: asJSON, open: true},
	"POST /v1/stream/__ds/subscriptions/{id}/release":  {tag: "streams", id: "subscriptionRelease", sum: "Release a claimed wake, with its token", in: written, open: true},
	"GET /v1/stream/__ds/jwks.json":                    {tag: "streams", id: "subscriptionKeys", sum: "Read the keys of the signatures of webhooks", out: asJSON, open: true},

	"GET /v1/ends/{shard}": {tag: "backup", id: "ends", sum: "List the last position of every session in a shard", out: api.ShardEnds{}},
	"GET /v1/sessions/{id}/records": {
		tag: "backup", id: "records", sum: "Read a session's records as stored", out: media{octets, "A RecordsHead in JSON, a newline, then records.", nil, api.RecordsHead{}},
		query: []param{cursorText, oneOf("from", "start: return all records that the log still has.", "start")},
	},
	"GET /v1/sessions/{id}/snapshots/{name}": {tag: "backup", id: "object", sum: "Read a snapshot as stored", out: blobBytes, back: []string{"Content-Length"}},
	"PUT /v1/sessions/{id}/snapshots/{name}": {tag: "backup", id: "restoreSnapshot", sum: "Restore a snapshot after its manifest", in: written},
	"POST /v1/sessions/{id}/restore/plan":    {tag: "backup", id: "planRestore", sum: "Plan a restore", in: api.RestorePlan{}, out: api.Planned{}},
	"POST /v1/sessions/{id}/restore":         {tag: "backup", id: "restore", sum: "Restore the records of a backup that the log lacks", in: media{octets, "A RestoreHead in JSON, a newline, then records.", nil, api.RestoreHead{}}, out: api.Restored{}},
	"POST /v1/restore/blobs":                 {tag: "backup", id: "wantBlobs", sum: "List which of these blobs are missing or corrupt", in: api.BlobWants{}, out: api.BlobWants{}},
	"PUT /v1/restore/blobs/{digest}":         {tag: "backup", id: "restoreBlob", sum: "Restore a blob, replacing a corrupt copy", in: written},
}

// inPath describes the path parameters.
var inPath = map[string]param{
	"id":     {"id", "The full session id in the log. For presence: the process id.", object{"type": "string", "pattern": "^[A-Za-z0-9_-]{8,128}$"}, true},
	"entry":  {"entry", "The entry's id.", object{"type": "string"}, true},
	"head":   {"head", "The head's name.", object{"type": "string"}, true},
	"name":   {"name", "The claim's writer, or the last part of a snapshot's key.", object{"type": "string"}, true},
	"digest": {"digest", "The SHA-256 digest of the bytes.", object{"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}, true},
	"path":   {"path", "The path of a stream: 1 to 1024 bytes, which may have slashes.", object{"type": "string"}, true},
	"shard":  {"shard", "The shard number, from 0.", object{"type": "integer", "minimum": 0}, true},
	"token":  {"token", "The token's id.", object{"type": "string", "pattern": "^[a-z2-7]{12}$"}, true},
}

// answerHeaders describes the response headers.
var answerHeaders = map[string]string{
	"Location":         "The URL of the new session or stream.",
	"ETag":             "The version of the answer.",
	"Content-Length":   "The length of the body in bytes.",
	api.HeaderCursor:   "The session's cursor when it was read.",
	api.HeaderRange:    "Which entries these are, and how many there are: 200-299/1000, or */1000 for none.",
	api.HeaderDialect:  "The dialect of the file.",
	api.HeaderDir:      "The directory of the file, relative to the agent's sessions directory.",
	api.HeaderFile:     "The name of the file in that directory.",
	api.HeaderLost:     "What that agent's files cannot represent: a JSON list of what and count.",
	api.HeaderSnapshot: "The snapshot's key in the object store.",
	"Cache-Control":    "no-store.",
	api.HeaderDryRun:   "true if this was a dry run: nothing was stored.",
}

var requestName = text(server.HeaderRequest, "A request id of up to 128 letters, digits and ._:-; default an id that the node generates.")

var ifNoneMatch = text("If-None-Match", "An ETag. The node answers 304 if the ETag is still current.")

var dryRun = oneOf(api.HeaderDryRun, "Checks and answers the call without storing anything. Older nodes ignore this header. The same call under /v1/dry-run/ is always a dry run, and older nodes answer it with 404.", "true")

var prefer = text("Prefer", "wait=SECONDS: how long the caller waits for the answer.")

const about = "Sessions of agents in a replicated log. docs/API.md says what each call promises. " +
	"Answers may gain members at any time: callers must ignore members that they do not know."

// describe returns the OpenAPI description as the server serves it.
func describe(root string) ([]byte, error) {
	s, err := newSchemas(root)
	if err != nil {
		return nil, err
	}
	paths := object{}
	for _, pattern := range slices.Sorted(maps.Keys(calls)) {
		c := calls[pattern]
		method, path, _ := strings.Cut(strings.ReplaceAll(pattern, "...}", "}"), " ")
		at, _ := paths[path].(object)
		if at == nil {
			at = object{}
			paths[path] = at
		}
		at[strings.ToLower(method)] = s.operation(pattern, c)
	}
	problem := s.of(reflect.TypeFor[api.Detail]())
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Sesslog", "version": "v1", "description": about,
			"license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []any{object{"url": "http://127.0.0.1:7433", "description": "A node at its default address."}},
		"security": []any{object{"token": []any{}}, object{}},
		"paths":    paths,
		"components": object{
			"schemas":         s.made,
			"parameters":      s.params,
			"headers":         object{"Request": saying("The request id: the caller's, or one that the node generated.")},
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "Required if the node is configured with tokens."}},
			"responses": object{"Problem": object{
				"description": "An error. Nothing changed, unless its code is uncertain.",
				"content":     object{"application/problem+json": object{"schema": problem}},
				"headers":     object{server.HeaderRequest: ref1("headers", "Request"), "Retry-After": saying("With 429 and 503: the number of seconds to wait before a retry."), "Allow": saying("With 405: the allowed methods."), api.HeaderCursor: saying(answerHeaders[api.HeaderCursor]), api.HeaderDryRun: saying(answerHeaders[api.HeaderDryRun])},
			}},
		},
	}
	b, err := json.MarshalIndent(doc, "", " ")
	return append(b, '\n'), err
}

func ref1(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

func saying(said string) object {
	return object{"description": said, "schema": object{"type": "string"}}
}

func (s *schemas) operation(pattern string, c call) object {
	_, path, _ := strings.Cut(strings.ReplaceAll(pattern, "...}", "}"), " ")
	var params []any
	for part := range strings.SplitSeq(path, "/") {
		if name := strings.Trim(part, "{}"); name != part {
			params = append(params, s.parameter("path", inPath[name]))
		}
	}
	for _, p := range c.query {
		params = append(params, s.parameter("query", p))
	}
	for _, p := range c.header {
		params = append(params, s.parameter("header", p))
	}
	if c.tagged {
		params = append(params, s.parameter("header", ifNoneMatch))
	}
	if slices.Contains(server.DryRuns(), pattern) {
		params = append(params, s.parameter("header", dryRun))
	}
	params = append(params, s.parameter("header", requestName))
	if !c.open {
		params = append(params, s.parameter("header", prefer))
	}
	op := object{"operationId": c.id, "tags": []string{c.tag}, "summary": c.sum, "responses": s.responses(pattern, c)}
	if params != nil {
		op["parameters"] = params
	}
	if c.in != nil {
		op["requestBody"] = object{"required": true, "content": s.content(c.in)}
	}
	if c.open {
		op["security"] = []any{}
	}
	return op
}

// parameter describes p once and returns a reference to it. If the name is taken by
// another parameter, it returns the description itself.
func (s *schemas) parameter(in string, p param) object {
	o := object{"in": in, "name": p.name, "description": p.said, "schema": p.schema}
	if p.required {
		o["required"] = true
	}
	key := in + "." + p.name
	if known, ok := s.params[key]; ok && !reflect.DeepEqual(known, o) {
		return o
	}
	s.params[key] = o
	return object{"$ref": "#/components/parameters/" + key}
}

func (s *schemas) responses(pattern string, c call) object {
	status, good := c.status, object{"description": c.sum + "."}
	if c.out == nil {
		good["description"] = "Success."
	} else {
		good["content"] = s.content(c.out)
	}
	if c.out == nil && status == 0 {
		status = 204
	}
	if status == 0 {
		status = 200
	}
	headers := object{server.HeaderRequest: ref1("headers", "Request")}
	if c.tagged {
		headers["ETag"] = saying(answerHeaders["ETag"])
	}
	if slices.Contains(server.DryRuns(), pattern) {
		headers[api.HeaderDryRun] = saying(answerHeaders[api.HeaderDryRun])
	}
	for _, name := range c.back {
		headers[name] = saying(answerHeaders[name])
	}
	good["headers"] = headers
	all := object{strconv.Itoa(status): good, "default": object{"$ref": "#/components/responses/Problem"}}
	if c.tagged {
		all["304"] = object{"description": "Not modified: the ETag in If-None-Match is still current.", "headers": headers}
	}
	if c.id == "ready" {
		all["503"] = object{"description": "The node cannot serve requests, and why not.", "content": good["content"], "headers": headers}
	}
	return all
}

// content describes the body v, or each of several alternatives.
func (s *schemas) content(v any) object {
	switch v := v.(type) {
	case []any:
		all := object{}
		for _, one := range v {
			for kind, is := range s.content(one) {
				all[kind] = is
			}
		}
		return all
	case media:
		is := object{"schema": object{"type": "string", "description": v.said}}
		if v.kind == octets {
			is["schema"] = object{"description": v.said}
		}
		if v.each != nil {
			is["x-each"] = s.each(v.each)
		}
		if v.head != nil {
			is["x-first"] = s.of(reflect.TypeOf(v.head))
		}
		return object{v.kind: is}
	}
	return object{"application/json": object{"schema": s.of(reflect.TypeOf(v))}}
}

// each returns the schema of v, or of any value in it if v is a list.
func (s *schemas) each(v any) object {
	list, ok := v.([]any)
	if !ok {
		return s.of(reflect.TypeOf(v))
	}
	var all []any
	for _, one := range list {
		all = append(all, s.of(reflect.TypeOf(one)))
	}
	return object{"anyOf": all}
}
