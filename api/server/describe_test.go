package server_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A call is one of the server's calls as it is described: what is not in the
// types that it takes and gives.
type call struct {
	tag, id string // a group, and a name for generated clients
	sum     string // what it does, in a line
	query   []param
	header  []param // of the request
	in      any     // the body: a value of its type, or a media; nil for none
	out     any     // the answer: likewise
	status  int     // of an answer that is none of error; default 200, or 204 without out
	back    []string
	tagged  bool // it has a version that may be asked about
	open    bool // asks for no token
}

// A media is a body that is no JSON.
type media struct {
	kind string
	said string
	each any // what each line or event of it is, if that is JSON
	head any // what its first line is, likewise
}

// A param is a parameter of a query, or a header.
type param struct {
	name, said string
	schema     object
	required   bool
}

func text(name, said string) param { return param{name, said, object{"type": "string"}, false} }

func yes(name, said string) param { return param{name, said, object{"type": "boolean"}, false} }

// number reads an optional parameter.
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

// Parameters that several calls have.
var (
	cursorText = text("after", "A cursor: what comes behind it.")

	demand = []param{
		text("seen", "A cursor: the answer has the record that it names. It is waited for, up to five seconds."),
		yes("strict", "A quorum of the log's servers agrees that the answer has every write that was answered before."),
	}
	view = []param{
		text("head", "The head to read from; default main."),
		text("leaf", "The entry to read from, by its id; null for before all entries. It goes before head."),
	}
	profile = []param{text("profile", "The agent by whose rules the session is read, such as omp or pi@0.73.")}

	filter = []param{
		text("prefix", "The beginning of the id, or of the agent's own id."),
		text("cwd", "The directory the agent worked in, as the agent wrote it."),
		yes("below", "With cwd: and those below it."),
		text("dialect", "Whose sessions, such as pi."),
		text("holder", "Who holds a head of it: the claim's agent, host, by or writer."),
		{"tag", "One of its tags; given several times, all of them.", object{"type": "array", "items": object{"type": "string"}, "maxItems": 16}, false},
		text("label", "The label of one of its entries."),
		text("name", "Part of the name. Case does not count."),
		text("text", "Part of the name or of the first message. Case does not count."),
		oneOf("state", "What it is at.", words(api.States)...),
		yes("deleted", "The trash instead."),
		text("modifiedFrom", "Modified at this time or later: 2026-01-02T03:04:05Z, or a day."),
		text("modifiedTo", "Modified at this time or before."),
		text("createdFrom", "Made at this time or later."),
		text("createdTo", "Made at this time or before."),
		number("minSize", "Bytes of its lines, at least."),
		number("maxSize", "Bytes of its lines, at most."),
		number("minCost", "Cost, at least, as its agent counted."),
		number("maxCost", "Cost, at most."),
	}
	order = []param{
		oneOf("sort", "What the listing is ordered by; default modified.", words(api.Sorts)...),
		oneOf("order", "Names go up by default, all else goes down.", "asc", "desc"),
	}

	onHead   = text(api.HeaderHead, "The head to write to; default main.")
	asWriter = text(api.HeaderWriter, "The claim to speak from, by its writer: fenced unless it still holds. Without it: fenced while anybody holds the head.")
	idemKey  = text(api.HeaderIdempotency, "Makes the ids of lines that have none, and the same creation or fork known again; at most 4 KiB.")
	ifMatch  = text("If-Match", "A cursor: only if the head has not moved since.")
	ifHead   = text(api.HeaderHead, "With If-Match: it is this head that must not have moved since, whatever else came.")
	ifSame   = text("If-Match", "A cursor: only if nothing at all came to the session since, or what is sent is there already. Of an import, 0 is for a session that is not there.")
	lastID   = text("Last-Event-ID", "The id of the last event that was received: the answer continues after it. It takes precedence over after.")

	conflict = []param{
		oneOf("onConflict", "What to do where another writer came first; default fail.", "fail", "rebase", "branch"),
		text("branch", "What the head is called that onConflict=branch makes; default a name made for it."),
	}
)

var importQuery = []param{
	text("dialect", "Whose file it is; default found out from the file."), text("by", "Who brings it."),
	text("parent", "The session in the log that a new one is from, where more is known than its header says."),
	text("kind", "How it is from that parent."),
	oneOf("onConflict", "Where the session went on otherwise; default fail.", "fail", "branch"), conflict[1],
}

func words[T ~string](names []T) (out []string) {
	for _, n := range names {
		out = append(out, string(n))
	}
	return out
}

// Answers that several calls have.
var (
	entryLines = media{ndjson, "Entry lines, byte for byte, each with a newline.", nil, nil}
	fileBytes  = media{ndjson, "The agent's file, byte for byte.", nil, nil}
	blobBytes  = media{octets, "The bytes. They are checked on the way: an answer that does not break off is whole.", nil, nil}
	written    = media{octets, "Bytes.", nil, nil}
	partList   = media{api.PartsType, "A Parts: the digests of the content's parts, which are blobs.", api.Parts{}, nil}
	plainText  = media{"text/plain", "A word, or a sentence.", nil, nil}
)

// calls are all calls of a server.
var calls = map[string]call{
	"GET /healthz":      {tag: "node", id: "health", sum: "Whether the process answers", out: plainText, open: true},
	"GET /readyz":       {tag: "node", id: "ready", sum: "Whether the node can serve, and why not", out: plainText, open: true},
	"GET /openapi.json": {tag: "node", id: "describe", sum: "This description", out: json.RawMessage{}, open: true},
	"GET /v1/status":    {tag: "node", id: "status", sum: "The node at a glance", out: api.Status{}},
	"GET /v1/doctor":    {tag: "node", id: "examine", sum: "Look at everything that the node can see", out: client.Examination{}},
	"POST /v1/doctor":   {tag: "node", id: "treat", sum: "The same, and mend what can be made again from the log", out: client.Examination{}},
	"GET /v1/rebuild":   {tag: "node", id: "toRebuild", sum: "What the node has made of the log", out: api.Rebuilt{}},
	"POST /v1/rebuild":  {tag: "node", id: "rebuild", sum: "Drop what the node has made of the log, and make it anew", out: api.Rebuilt{}},
	"GET /v1/verify":    {tag: "node", id: "verifyLog", sum: "What is wrong with the log as a whole, and all sessions that it has", out: api.LogReport{}},
	"GET /v1/audit": {
		tag: "node", id: "audit", sum: "What operators did, oldest first", out: api.AuditPage{},
		query: []param{text("since", "Records stored then or later, RFC 3339."), {"after", "The number of a record: those behind it.", object{"type": "integer", "minimum": 0}, false}},
	},

	"GET /v1/whoami":                 {tag: "tokens", id: "whoami", sum: "What the caller may do here", out: api.Whoami{}},
	"GET /v1/tokens":                 {tag: "tokens", id: "tokens", sum: "The log's tokens, without their secrets, the oldest first", out: api.TokenList{}},
	"POST /v1/tokens":                {tag: "tokens", id: "createToken", sum: "Make a token; its secret is in this answer and nowhere else", in: api.TokenRequest{}, out: api.MadeToken{}, status: 201},
	"POST /v1/tokens/{token}/rotate": {tag: "tokens", id: "rotateToken", sum: "Give a token a new secret", in: api.RotateRequest{}, out: api.MadeToken{}},
	"DELETE /v1/tokens/{token}": {
		tag: "tokens", id: "revokeToken", sum: "End a token, for good", out: api.Token{},
		query: []param{text("by", "Who ends it."), text("host", "Where they are."), text("why", "Why.")},
	},

	"GET /v1/sessions": {
		tag: "sessions", id: "list", sum: "List sessions, the latest modified first", out: api.List{},
		query: with(filter, order, []param{upTo("limit", "How many.", 10000, 1000), text("after", "The next of the page before, or a session's id.")}),
	},
	"POST /v1/sessions": {
		tag: "sessions", id: "create", sum: "Make a session: an empty one, or a whole one of its lines", out: api.Created{}, status: 201, back: []string{"Location"},
		header: []param{idemKey}, in: []any{api.Create{}, media{ndjson, "The header's line, then entry lines: each with an id of its own and a parent that is null or before it.", nil, nil}},
		query: []param{text("dialect", "Of lines: whose they are; default pi."), text("by", "Of lines: who makes it.")},
	},
	"GET /v1/sessions/changes": {
		tag: "following", id: "changes", sum: "Follow the rows of sessions as they change", out: media{events, "Events row and gone, each with a mark as id; problem ends them.", api.RowChange{}, nil},
		query: with(filter, order, []param{text("after", "A mark: changes behind it; default now.")}), header: []param{lastID},
	},
	"GET /v1/events": {
		tag: "following", id: "followMany", sum: "Follow the records of several sessions: those named, those of a filter, or all", header: []param{lastID},
		query: with([]param{
			{"session", "A session's whole id; given several times, 100 at most. Not together with a filter.", object{"type": "array", "items": object{"type": "string"}, "maxItems": 100}, false},
			text("after", "The id of an event: what comes behind it; default now."),
		}, filter, order),
		out: media{events, "An event for each record, with its kind as event; lost where records of one session were not to be had; problem ends them. Each has as id where the follower is.", []any{api.Event{}, api.FeedLoss{}}, nil},
	},
	"GET /v1/search": {
		tag: "sessions", id: "search", sum: "Search what sessions say, newest first", out: client.SearchPage{},
		query: with([]param{
			must(text("q", `Words, all of which an entry must have; "words in quotes" are a phrase; begin* is the beginning of a word.`)),
			text("session", "A session's whole id."), text("from", "Said then or later."), text("to", "Said then or before."),
			upTo("limit", "How many.", 1000, 50), text("before", "The next of the page before."),
		}, filter, order),
	},
	"POST /v1/import": {
		tag: "sessions", id: "import", sum: "Bring in a session file, or its parts", in: []any{fileBytes, partList}, out: api.Imported{}, header: []param{asWriter, ifSame, ifHead},
		query: importQuery,
	},
	"GET /v1/sessions/{id}":      {tagged: true, tag: "sessions", id: "info", sum: "A session at a glance", out: api.Info{}, query: with(profile, demand)},
	"GET /v1/sessions/{id}/tree": {tagged: true, tag: "sessions", id: "tree", sum: "The entries in display order", out: []core.TreeNode{}, query: with(profile, demand), back: []string{api.HeaderCursor}},
	"GET /v1/sessions/{id}/context": {
		tag: "sessions", id: "context", sum: "What the agent's own context builder returns", out: json.RawMessage{},
		query: with(view, profile, demand), back: []string{api.HeaderCursor},
	},
	"GET /v1/sessions/{id}/entries": {
		tagged: true, tag: "sessions", id: "entries", sum: "The entry lines, in order of appearance", out: entryLines, back: []string{api.HeaderCursor},
		query: with([]param{yes("path", "Only those from the root to head or leaf.")}, view, demand),
	},
	"GET /v1/sessions/{id}/state": {
		tagged: true, tag: "sessions", id: "state", sum: "All that an agent's view needs, as of one record", query: demand, back: []string{api.HeaderCursor},
		out: media{ndjson, "A State, the header's line, every entry line.", nil, api.State{}},
	},
	"GET /v1/sessions/{id}/children": {
		tagged: true, tag: "sessions", id: "children", sum: "The lines of the entries whose parent is one entry", out: entryLines, back: []string{api.HeaderCursor},
		query: with([]param{text("of", "The parent's id; without it, the roots.")}, demand),
	},
	"GET /v1/sessions/{id}/digest": {
		tagged: true, tag: "sessions", id: "digest", sum: "A digest of the session's beginning, to compare a file with", out: api.Digested{}, back: []string{api.HeaderCursor},
		query: with([]param{{"entries", "Of how many entries; default all.", object{"type": "integer", "minimum": 0}, false}}, demand),
	},
	"GET /v1/sessions/{id}/export": {
		tagged: true, tag: "sessions", id: "export", sum: "The session as its agent's file, or another's", out: []any{fileBytes, written},
		query: with([]param{yes("original", "The file that was imported, as it was."), text("as", "As a file of this agent.")}, view, demand),
		back:  []string{api.HeaderCursor, api.HeaderDir, api.HeaderFile, api.HeaderLost, "Content-Length"},
	},
	"GET /v1/sessions/{id}/file": {
		tagged: true, tag: "sessions", id: "file", sum: "The session such that an agent that opens the file goes on where a head stands", out: fileBytes,
		query: with(view, demand), back: []string{api.HeaderCursor, api.HeaderDialect, api.HeaderDir, api.HeaderFile},
	},
	"GET /v1/sessions/{id}/snapshot": {
		tag: "sessions", id: "snapshot", sum: "The plain bytes of the latest snapshot", out: media{ndjson, "Canonical JSONL, images left as blobs.", nil, nil},
		query: demand, back: []string{api.HeaderCursor, api.HeaderSnapshot},
	},
	"GET /v1/sessions/{id}/verify":  {tag: "sessions", id: "verify", sum: "Read a session anew and say what is wrong with it", out: api.Report{}},
	"POST /v1/sessions/{id}/repair": {tag: "sessions", id: "repair", sum: "Mend what another copy can mend", out: api.Report{}},
	"GET /v1/sessions/{id}/events": {
		tag: "following", id: "events", sum: "Follow a session's records, in order and without gaps", header: []param{lastID},
		query: with([]param{cursorText, yes("wait", "false ends at the last record there is.")}, demand),
		out:   media{events, "An event for each record, with its cursor as id and its kind as event; problem ends them.", api.Event{}, nil},
	},
	"GET /v1/sessions/{id}/heads": {tag: "heads", id: "heads", sum: "Where writers go on, and who holds what", out: api.Heads{}, query: demand, back: []string{api.HeaderCursor}},

	"POST /v1/sessions/{id}/entries": {
		tag: "writing", id: "append", sum: "Append entry lines: all or none", out: api.Appended{}, back: []string{"ETag"},
		in:     media{ndjson, "Entry lines, one JSON object each. Absent id, parentId and timestamp are filled in.", nil, nil},
		header: []param{onHead, asWriter, idemKey, ifMatch}, query: conflict,
	},
	"POST /v1/sessions/{id}/labels": {
		tag: "writing", id: "label", sum: "Label an entry", in: api.LabelRequest{}, out: api.Appended{}, back: []string{"ETag"},
		header: []param{onHead, asWriter, idemKey}, query: conflict,
	},
	"POST /v1/sessions/{id}/name": {
		tag: "writing", id: "name", sum: "Name the session", in: api.NameRequest{}, out: api.Appended{}, back: []string{"ETag"},
		header: []param{onHead, asWriter, idemKey}, query: conflict,
	},
	"POST /v1/sessions/{id}/branch": {
		tag: "writing", id: "branch", sum: "Go on from another place", in: api.BranchRequest{}, out: api.Appended{}, back: []string{"ETag"},
		header: []param{onHead, asWriter, idemKey, ifMatch}, query: conflict,
	},
	"PATCH /v1/sessions/{id}/entries/{entry}": {
		tag: "writing", id: "amend", sum: "Give an entry another line", in: media{ndjson, "The entry's new line, with the same id, parent and type.", nil, nil}, out: api.Amended{},
		header: []param{onHead, asWriter, idemKey, ifSame},
	},
	"PUT /v1/sessions/{id}/entries/{entry}/meta": {
		tag: "writing", id: "setMeta", sum: "Replace what a message says of the channel it came through", in: json.RawMessage{}, out: api.Amended{},
		header: []param{onHead, asWriter, idemKey},
	},
	"POST /v1/sessions/{id}/reactions": {
		tag: "writing", id: "react", sum: "Add a reaction to a message", in: api.ReactionRequest{}, out: api.Amended{},
		header: []param{onHead, asWriter, idemKey},
	},
	"PUT /v1/sessions/{id}/heads/{head}": {
		tag: "heads", id: "move", sum: "Move a head, or make one", in: api.MoveRequest{}, out: api.Info{}, header: []param{asWriter, ifMatch},
	},
	"POST /v1/sessions/{id}/claims":          {tag: "heads", id: "claim", sum: "Claim a head", in: api.ClaimRequest{}, out: api.Claimed{}, status: 201},
	"DELETE /v1/sessions/{id}/claims/{name}": {tag: "heads", id: "release", sum: "Release a claim", query: []param{text("head", "Which head; default main.")}},
	"POST /v1/sessions/{id}/fork": {
		tag: "sessions", id: "fork", sum: "Make a new session of a path of this one", in: api.ForkRequest{}, out: api.Created{}, status: 201,
		header: []param{idemKey}, back: []string{"Location"},
	},
	"POST /v1/sessions/{id}/merge":      {tag: "sessions", id: "merge", sum: "Make a new session of this one and another", in: api.MergeRequest{}, out: api.Merged{}, status: 201, back: []string{"Location"}, header: []param{idemKey}},
	"POST /v1/sessions/{id}/close":      {tag: "sessions", id: "close", sum: "Mark the good end of a run", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/delete":     {tag: "sessions", id: "delete", sum: "Put the session in the trash", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/undelete":   {tag: "sessions", id: "undelete", sum: "Take the session out of the trash", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/checkpoint": {tag: "sessions", id: "checkpoint", sum: "Have a snapshot written now", out: api.Snapshot{}},

	"GET /v1/holds":                 {tag: "removing", id: "holds", sum: "The sessions that are held", out: api.Holds{}},
	"POST /v1/sessions/{id}/hold":   {tag: "removing", id: "hold", sum: "See to it that nothing of a session is deleted, erased or redacted", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/unhold": {tag: "removing", id: "unhold", sum: "End a hold", in: api.Notice{}, out: api.Created{}},
	"POST /v1/sessions/{id}/redact": {tag: "removing", id: "redact", sum: "Take out what entries say, for good", in: api.RedactRequest{}, out: api.Redacted{}},
	"GET /v1/sessions/{id}/erase":   {tag: "removing", id: "erasable", sum: "What there is of a session", out: client.Erasable{}},
	"POST /v1/sessions/{id}/erase":  {tag: "removing", id: "erase", sum: "Remove a session for good", in: api.EraseRequest{}, out: api.Receipt{}},
	"POST /v1/retention/plan":       {tag: "removing", id: "plan", sum: "What a policy of retention comes to", in: api.Policy{}, out: api.Plan{}},
	"POST /v1/retention/apply":      {tag: "removing", id: "apply", sum: "Do what a plan of retention says", in: api.ApplyRequest{}, out: api.Applied{}},

	"GET /v1/presence":         {tag: "presence", id: "presence", sum: "Who is at work", out: api.PresenceList{}},
	"PUT /v1/presence/{id}":    {tag: "presence", id: "beat", sum: "Say that a process is there", in: session.Presence{}},
	"DELETE /v1/presence/{id}": {tag: "presence", id: "leave", sum: "Say that a process has gone"},

	"GET /v1/lineage": {
		tag: "sessions", id: "lineage", sum: "Which session came from which", out: []any{api.Lineage{}, media{ndjson, "A line for each session in the log, as OpenRath exports one.", nil, nil}},
		query: []param{
			text("session", "The one to look from; default all."), oneOf("direction", "Default both.", "ancestors", "descendants", "both"),
			oneOf("format", "Default json.", "json", "jsonl"),
		},
	},
	"GET /v1/prompts": {
		tag: "sessions", id: "prompts", sum: "What people asked, newest first", out: client.PromptPage{},
		query: []param{
			text("q", "Words, all of which a prompt must have; of the last one the beginning is enough."), text("cwd", "The directory the agent worked in."),
			text("session", "A session's whole id."), text("dialect", "Whose sessions."), upTo("limit", "How many.", 1000, 100), text("before", "The next of the page before."),
		},
	},

	"GET /v1/blobs": {
		tag: "blobs", id: "blobs", sum: "List blobs in the order of their digests", out: api.BlobList{},
		query: []param{text("after", "A digest: begin behind it."), upTo("limit", "How many.", 10000, 1000)},
	},
	"GET /v1/blobs/{digest}":         {tagged: true, tag: "blobs", id: "blob", sum: "The bytes of a blob", out: blobBytes, back: []string{"Content-Length"}},
	"PUT /v1/blobs/{digest}":         {tag: "blobs", id: "putBlob", sum: "Store bytes, or those of parts, under their digest", in: []any{written, partList}},
	"GET /v1/blobs/{digest}/info":    {tag: "blobs", id: "blobInfo", sum: "What is known of a blob", out: api.BlobStat{}},
	"GET /v1/blobs/{digest}/verify":  {tag: "blobs", id: "verifyBlob", sum: "Read a blob from where it is stored", out: api.BlobReport{}},
	"POST /v1/blobs/{digest}/repair": {tag: "blobs", id: "repairBlob", sum: "Write a blob again that is not sound, if its bytes are at hand", out: api.BlobReport{}},
	"POST /v1/blobs/gc":              {tag: "blobs", id: "collectBlobs", sum: "Look for blobs that no session names", in: api.GCRequest{}, out: api.GCReport{}},

	"GET /v1/ends/{shard}": {tag: "backup", id: "ends", sum: "Where all sessions of a shard end", out: api.ShardEnds{}},
	"GET /v1/sessions/{id}/records": {
		tag: "backup", id: "records", sum: "A session's records as they are stored", out: media{octets, "A RecordsHead in JSON, a newline, and records.", nil, api.RecordsHead{}},
		query: []param{cursorText, oneOf("from", "All that the log still has.", "start")},
	},
	"GET /v1/sessions/{id}/snapshots/{name}": {tag: "backup", id: "object", sum: "A snapshot as it is stored", out: blobBytes, back: []string{"Content-Length"}},
	"PUT /v1/sessions/{id}/snapshots/{name}": {tag: "backup", id: "restoreSnapshot", sum: "Store a snapshot behind its manifest", in: written},
	"POST /v1/sessions/{id}/restore/plan":    {tag: "backup", id: "planRestore", sum: "What a restore would find", in: api.RestorePlan{}, out: api.Planned{}},
	"POST /v1/sessions/{id}/restore":         {tag: "backup", id: "restore", sum: "Store the records of a backup that the log lacks", in: media{octets, "A RestoreHead in JSON, a newline, and records.", nil, api.RestoreHead{}}, out: api.Restored{}},
	"POST /v1/restore/blobs":                 {tag: "backup", id: "wantBlobs", sum: "Which of these blobs are not here, or not sound", in: api.BlobWants{}, out: api.BlobWants{}},
	"PUT /v1/restore/blobs/{digest}":         {tag: "backup", id: "restoreBlob", sum: "Store a blob, also where other bytes are in its place", in: written},
}

// inPath are the parts of paths that stand for something.
var inPath = map[string]param{
	"id":     {"id", "The session's whole id in the log. Of presence: the process's.", object{"type": "string", "pattern": "^[A-Za-z0-9_-]{8,128}$"}, true},
	"entry":  {"entry", "The entry's id.", object{"type": "string"}, true},
	"head":   {"head", "The head's name.", object{"type": "string"}, true},
	"name":   {"name", "The claim's writer, or the end of a snapshot's key.", object{"type": "string"}, true},
	"digest": {"digest", "The SHA-256 of the bytes.", object{"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}, true},
	"shard":  {"shard", "The number of a shard, from 0.", object{"type": "integer", "minimum": 0}, true},
	"token":  {"token", "The token's id.", object{"type": "string", "pattern": "^[a-z2-7]{12}$"}, true},
}

// answerHeaders are what answers say beside their bodies.
var answerHeaders = map[string]string{
	"Location":         "The session that was made.",
	"ETag":             "What the answer is a version of.",
	"Content-Length":   "Bytes.",
	api.HeaderCursor:   "The cursor where the session stood.",
	api.HeaderDialect:  "Whose file it is: a dialect's name.",
	api.HeaderDir:      "Where the agent looks for the file, below its own folder of sessions.",
	api.HeaderFile:     "What the file is called there.",
	api.HeaderLost:     "What that agent's files have no place for: a JSON list of what and count.",
	api.HeaderSnapshot: "The snapshot's key in the object store.",
	"Cache-Control":    "no-store.",
	api.HeaderDryRun:   "true, of a dry run: nothing was stored.",
}

var requestName = text(server.HeaderRequest, "A name for the request, of up to 128 letters, digits and ._:-; default one that the node makes.")

var ifNoneMatch = text("If-None-Match", "An ETag: 304 where the answer is still that.")

var dryRun = oneOf(api.HeaderDryRun, "Have the call be checked and answered, and nothing stored. An older node takes no notice of it: the same call below /v1/dry-run/ has it by itself, and is not found there.", "true")

var prefer = text("Prefer", "wait=SECONDS: how long the caller will wait.")

const about = "Agents' sessions, kept in a replicated log. docs/API.md says what each call promises. " +
	"Members may be added to answers at any time: callers leave those alone that they do not know."

// describe makes the description, as it is served.
func describe(root string) ([]byte, error) {
	s, err := newSchemas(root)
	if err != nil {
		return nil, err
	}
	paths := object{}
	for _, pattern := range slices.Sorted(maps.Keys(calls)) {
		c := calls[pattern]
		method, path, _ := strings.Cut(pattern, " ")
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
		"servers":  []any{object{"url": "http://127.0.0.1:7433", "description": "A node, where it listens unless it is told otherwise."}},
		"security": []any{object{"token": []any{}}, object{}},
		"paths":    paths,
		"components": object{
			"schemas":         s.made,
			"parameters":      s.params,
			"headers":         object{"Request": saying("The request's name: the caller's, or one that the node made.")},
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "Where the node has a token."}},
			"responses": object{"Problem": object{
				"description": "An error. Nothing was changed, unless its code is uncertain.",
				"content":     object{"application/problem+json": object{"schema": problem}},
				"headers":     object{server.HeaderRequest: ref1("headers", "Request"), "Retry-After": saying("Seconds, of 503."), "Allow": saying("Of 405."), api.HeaderCursor: saying(answerHeaders[api.HeaderCursor]), api.HeaderDryRun: saying(answerHeaders[api.HeaderDryRun])},
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
	_, path, _ := strings.Cut(pattern, " ")
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

// parameter describes p once, however many calls have it.
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
		good["description"] = "It is done."
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
		all["304"] = object{"description": "It is still what If-None-Match says.", "headers": headers}
	}
	if c.id == "ready" {
		all["503"] = object{"description": "It cannot, and why not.", "content": good["content"], "headers": headers}
	}
	return all
}

// content is the body v may be, or each of them.
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

// each is the schema of v, or of any of them.
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
