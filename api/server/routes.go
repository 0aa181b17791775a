package server

import (
	"net/http"

	"github.com/sesslog/sesslog/api/access"
)

// A route is one call: its handler, the rights that it requires, and how it is
// recorded, limited and repeated as a dry run.
type route struct {
	pattern string // of http.ServeMux
	handle  func(*Server, http.ResponseWriter, *http.Request) error
	scope   access.Scope
	about   about
	act     string // its name in audit records, or noAct
	flags   flags
}

// about says which sessions a call concerns. It decides whether a token that is
// limited to a prefix of session ids may make the call.
type about int

const (
	ofLog   about = iota // the whole log: not for tokens with a prefix
	inPath               // the session in the path
	within               // the handler limits the call to the sessions of the token
	nowhere              // no session
)

// noAct marks calls without audit records: they change nothing, or write to
// sessions, whose own records have it.
const noAct = ""

// flags are what a route has besides its rights.
type flags int

const (
	heavy            flags = 1 << iota // builds its answer in memory: a limited number at a time
	follower                           // streams events until its caller ends it
	feedFollower                       // a follower of several sessions
	hasDryRun                          // has a dry run: it writes to sessions and nowhere else
	audited                            // the server records it; other acts are recorded by their handlers
	restoresBlob                       // a part of a restore
	restoresSnapshot                   // a part of a restore
	restoresSession                    // a part of a restore
	foreign                            // of another protocol: it has that one's query parameters, and may wait for new data
	unlimited                          // not counted among requests
	public                             // requires no token
)

func (r *route) has(f flags) bool { return r.flags&f != 0 }

// routes returns the table of all calls. openapi.json describes each.
func routes() []route {
	return []route{
		// Reading.
		{"GET /v1/sessions", (*Server).list, access.Read, within, noAct, 0},
		{"GET /v1/sessions/changes", (*Server).changes, access.Read, within, noAct, follower},
		{"GET /v1/search", (*Server).search, access.Read, within, noAct, 0},
		{"GET /v1/events", (*Server).feed, access.Read, within, noAct, feedFollower},
		{"GET /v1/prompts", (*Server).prompts, access.Read, within, noAct, 0},
		{"GET /v1/sessions/{id}", (*Server).info, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/heads", (*Server).heads, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/state", (*Server).state, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/children", (*Server).children, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/tree", (*Server).tree, access.Read, inPath, noAct, heavy},
		{"GET /v1/sessions/{id}/context", (*Server).context, access.Read, inPath, noAct, heavy},
		{"GET /v1/sessions/{id}/entries", (*Server).entries, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/diff", (*Server).diff, access.Read, inPath, noAct, heavy}, // and within
		{"GET /v1/sessions/{id}/edits", (*Server).edits, access.Read, inPath, noAct, heavy},
		{"GET /v1/sessions/{id}/usage", (*Server).sessionUsage, access.Read, inPath, noAct, heavy},
		{"GET /v1/sessions/{id}/digest", (*Server).digest, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/export", (*Server).export, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/file", (*Server).file, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/snapshot", (*Server).snapshot, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/events", (*Server).events, access.Read, inPath, noAct, follower},
		{"GET /v1/sessions/{id}/verify", (*Server).verify, access.Read, inPath, noAct, heavy},
		{"GET /v1/sessions/{id}/records", (*Server).records, access.Read, inPath, noAct, 0},
		{"GET /v1/sessions/{id}/snapshots/{name}", (*Server).object, access.Read, inPath, noAct, 0},
		{"GET /v1/lineage", (*Server).lineage, access.Read, ofLog, noAct, 0},
		{"GET /v1/blobs", (*Server).blobs, access.Read, ofLog, noAct, 0}, // a blob is no one session's
		{"GET /v1/blobs/{digest}", (*Server).blob, access.Read, ofLog, noAct, 0},
		{"GET /v1/blobs/{digest}/info", (*Server).blobInfo, access.Read, ofLog, noAct, heavy},
		{"GET /v1/blobs/{digest}/verify", (*Server).verifyBlob, access.Read, ofLog, noAct, 0},
		{"GET /v1/ends/{shard}", (*Server).ends, access.Read, ofLog, noAct, heavy},
		{"GET /v1/status", (*Server).status, access.Read, ofLog, noAct, 0},
		{"GET /v1/presence", (*Server).presence, access.Read, ofLog, noAct, 0},
		{"GET /v1/verify", (*Server).verifyLog, access.Read, ofLog, noAct, heavy},
		{"GET /v1/doctor", (*Server).doctor, access.Read, ofLog, noAct, heavy},
		{"GET /v1/holds", (*Server).holds, access.Read, ofLog, noAct, 0},
		{"GET /v1/whoami", (*Server).whoami, access.Read, nowhere, noAct, 0},
		{"GET /metrics", (*Server).metrics, access.Read, ofLog, noAct, unlimited},

		// Share links: a link names no session, its token does.
		{"GET /v1/shared", (*Server).sharedInfo, access.Share, nowhere, noAct, 0},
		{"GET /v1/shared/entries", (*Server).sharedEntries, access.Share, nowhere, noAct, 0},
		{"GET /v1/shared/events", (*Server).sharedEvents, access.Share, nowhere, noAct, follower},
		{"GET /v1/shares", (*Server).shares, access.Read, within, noAct, 0},
		{"POST /v1/sessions/{id}/shares", (*Server).share, access.Write, inPath, "share", 0},
		{"DELETE /v1/sessions/{id}/shares/{token}", (*Server).unshare, access.Write, inPath, "unshare", 0},

		// Creating sessions and writing to them.
		{"POST /v1/sessions", (*Server).create, access.Write, within, noAct, hasDryRun},
		{"POST /v1/import", (*Server).importFile, access.Write, within, noAct, hasDryRun},
		{"POST /v1/sessions/{id}/fork", (*Server).fork, access.Write, inPath, noAct, heavy | hasDryRun},   // and within
		{"POST /v1/sessions/{id}/merge", (*Server).merge, access.Write, inPath, noAct, heavy | hasDryRun}, // and within
		{"POST /v1/sessions/{id}/entries", (*Server).append, access.Write, inPath, noAct, hasDryRun},
		{"PATCH /v1/sessions/{id}/entries", (*Server).amend, access.Write, inPath, noAct, hasDryRun},
		{"PATCH /v1/sessions/{id}/entries/{entry}", (*Server).amend, access.Write, inPath, noAct, hasDryRun},
		{"PUT /v1/sessions/{id}/entries/{entry}/meta", (*Server).meta, access.Write, inPath, noAct, hasDryRun},
		{"POST /v1/sessions/{id}/reactions", (*Server).react, access.Write, inPath, noAct, hasDryRun},
		{"POST /v1/sessions/{id}/branch", (*Server).branch, access.Write, inPath, noAct, hasDryRun},
		{"POST /v1/sessions/{id}/labels", (*Server).label, access.Write, inPath, noAct, hasDryRun},
		{"POST /v1/sessions/{id}/name", (*Server).name, access.Write, inPath, noAct, hasDryRun},
		{"PUT /v1/sessions/{id}/heads/{head}", (*Server).move, access.Write, inPath, noAct, hasDryRun},
		{"POST /v1/sessions/{id}/claims", (*Server).claim, access.Write, inPath, noAct, hasDryRun},
		{"DELETE /v1/sessions/{id}/claims/{name}", (*Server).release, access.Write, inPath, noAct, hasDryRun},
		{"POST /v1/sessions/{id}/close", (*Server).closeSession, access.Write, inPath, noAct, hasDryRun},
		{"POST /v1/sessions/{id}/checkpoint", (*Server).checkpoint, access.Write, inPath, noAct, 0},
		{"POST /v1/sessions/{id}/delete", (*Server).delete, access.Write, inPath, "delete", hasDryRun}, // to the trash
		{"POST /v1/sessions/{id}/undelete", (*Server).undelete, access.Write, inPath, "undelete", hasDryRun},
		{"PUT /v1/blobs/{digest}", (*Server).putBlob, access.Write, nowhere, noAct, 0}, // stores what the caller has
		{"PUT /v1/presence/{id}", (*Server).announce, access.Write, nowhere, noAct, 0}, // a hint about a process
		{"DELETE /v1/presence/{id}", (*Server).leave, access.Write, nowhere, noAct, 0},

		// The durable-streams protocol; its handler checks the session of each path.
		{"GET /v1/stream/{path...}", (*Server).stream, access.Read, within, noAct, foreign},
		{"PUT /v1/stream/{path...}", (*Server).stream, access.Write, within, noAct, foreign},
		{"POST /v1/stream/{path...}", (*Server).stream, access.Write, within, noAct, foreign},
		{"DELETE /v1/stream/{path...}", (*Server).stream, access.Write, within, "delete", foreign},

		// Removal, repair, restore, tokens and audit records.
		{"GET /v1/sessions/{id}/erase", (*Server).erasable, access.Admin, inPath, noAct, heavy},
		{"POST /v1/sessions/{id}/erase", (*Server).erase, access.Admin, inPath, "erase", heavy},
		{"POST /v1/sessions/{id}/redact", (*Server).redact, access.Admin, inPath, "redact", heavy},
		{"POST /v1/sessions/{id}/hold", (*Server).hold, access.Admin, inPath, "hold", hasDryRun},
		{"POST /v1/sessions/{id}/unhold", (*Server).unhold, access.Admin, inPath, "unhold", hasDryRun},
		{"POST /v1/sessions/{id}/repair", (*Server).repair, access.Admin, inPath, "repair", audited | heavy},
		{"POST /v1/sessions/{id}/restore/plan", (*Server).planRestore, access.Admin, inPath, noAct, heavy},
		{"POST /v1/sessions/{id}/restore", (*Server).restore, access.Admin, inPath, "restore", restoresSession | heavy},
		{"PUT /v1/sessions/{id}/snapshots/{name}", (*Server).restoreSnapshot, access.Admin, inPath, "restore", restoresSnapshot | heavy},
		{"POST /v1/restore/blobs", (*Server).missingBlobs, access.Admin, ofLog, noAct, 0},
		{"PUT /v1/restore/blobs/{digest}", (*Server).restoreBlob, access.Admin, ofLog, "restore", restoresBlob},
		{"POST /v1/retention/plan", (*Server).plan, access.Admin, ofLog, noAct, heavy},
		{"POST /v1/retention/apply", (*Server).apply, access.Admin, ofLog, "retention", heavy},
		{"POST /v1/blobs/{digest}/repair", (*Server).repairBlob, access.Admin, ofLog, "repair-blob", audited},
		{"POST /v1/blobs/gc", (*Server).collect, access.Admin, ofLog, "gc", heavy},
		{"POST /v1/doctor", (*Server).doctorFix, access.Admin, ofLog, "doctor-fix", audited | heavy},
		{"GET /v1/rebuild", (*Server).rebuild, access.Admin, ofLog, noAct, 0},
		{"POST /v1/rebuild", (*Server).rebuild, access.Admin, ofLog, "rebuild", audited | heavy},
		{"GET /v1/audit", (*Server).audit, access.Admin, ofLog, noAct, 0},
		{"GET /v1/tokens", (*Server).tokens, access.Admin, ofLog, noAct, 0},
		{"POST /v1/tokens", (*Server).createToken, access.Admin, ofLog, "token-create", 0},
		{"POST /v1/tokens/{token}/rotate", (*Server).rotateToken, access.Admin, ofLog, "token-rotate", 0},
		{"DELETE /v1/tokens/{token}", (*Server).revokeToken, access.Admin, ofLog, "token-revoke", 0},

		// With the token of a wake, which only concerns its subscription.
		{"POST /v1/stream/__ds/subscriptions/{id}/callback", (*Server).streamWorker, "", nowhere, noAct, public},
		{"POST /v1/stream/__ds/subscriptions/{id}/ack", (*Server).streamWorker, "", nowhere, noAct, public},
		{"POST /v1/stream/__ds/subscriptions/{id}/release", (*Server).streamWorker, "", nowhere, noAct, public},
		{"GET /v1/stream/__ds/jwks.json", (*Server).streamKeys, "", nowhere, noAct, public},

		// Without a token: they say nothing about sessions.
		{"GET /healthz", (*Server).healthz, "", nowhere, noAct, public},
		{"GET /readyz", (*Server).readyz, "", nowhere, noAct, public},
		{"GET /openapi.json", (*Server).description, "", nowhere, noAct, public},
	}
}

// routeOf returns the route of a request. A request without one counts as a call
// for admins of the whole log.
func (s *Server) routeOf(r *http.Request) *route {
	if rt, ok := s.byPattern[r.Pattern]; ok {
		return rt
	}
	return &route{pattern: r.Pattern, scope: access.Admin, about: ofLog}
}
