package server

import (
	"net/http"

	"github.com/sesslog/sesslog/api/access"
)

// routes are the calls, each described in openapi.json. What each asks of its
// caller is in the table of rights.go.
func (s *Server) routes() map[string]handler {
	return map[string]handler{
		"GET /v1/status":                             s.status,
		"GET /v1/presence":                           s.presence,
		"PUT /v1/presence/{id}":                      s.beat,
		"DELETE /v1/presence/{id}":                   s.leave,
		"GET /v1/sessions/{id}/heads":                s.heads,
		"GET /v1/sessions":                           s.list,
		"POST /v1/sessions":                          s.create,
		"POST /v1/import":                            s.importFile,
		"GET /v1/sessions/{id}/state":                s.state,
		"GET /v1/sessions/{id}/digest":               s.digest,
		"GET /v1/sessions/{id}/children":             s.children,
		"POST /v1/sessions/{id}/branch":              s.branch,
		"PATCH /v1/sessions/{id}/entries/{entry}":    s.amend,
		"PUT /v1/sessions/{id}/entries/{entry}/meta": s.meta,
		"POST /v1/sessions/{id}/reactions":           s.react,
		"GET /v1/sessions/{id}":                      s.info,
		"GET /v1/sessions/{id}/tree":                 one(s.gates.heavy, s.tree),
		"GET /v1/sessions/{id}/context":              one(s.gates.heavy, s.context),
		"GET /v1/sessions/{id}/entries":              s.entries,
		"GET /v1/sessions/{id}/export":               s.export,
		"GET /v1/sessions/{id}/file":                 s.file,
		"GET /v1/sessions/{id}/snapshot":             s.snapshot,
		"GET /v1/sessions/{id}/events":               one(s.gates.followers, s.events),
		"GET /v1/events":                             one(s.gates.feeds, s.feed),
		"GET /v1/verify":                             one(s.gates.heavy, s.verifyLog),
		"GET /v1/doctor":                             one(s.gates.heavy, s.examine),
		"POST /v1/doctor":                            s.recorded(one(s.gates.heavy, s.treat)),
		"GET /v1/sessions/{id}/verify":               one(s.gates.heavy, s.verify),
		"POST /v1/sessions/{id}/repair":              s.recorded(one(s.gates.heavy, s.repair)),
		"POST /v1/sessions/{id}/entries":             s.append,
		"POST /v1/sessions/{id}/labels":              s.label,
		"POST /v1/sessions/{id}/name":                s.name,
		"PUT /v1/sessions/{id}/heads/{head}":         s.move,
		"POST /v1/sessions/{id}/claims":              s.claim,
		"DELETE /v1/sessions/{id}/claims/{name}":     s.release,
		"POST /v1/sessions/{id}/fork":                one(s.gates.heavy, s.fork),
		"POST /v1/sessions/{id}/merge":               one(s.gates.heavy, s.merge),
		"GET /v1/lineage":                            s.lineage,
		"POST /v1/sessions/{id}/delete":              s.delete,
		"POST /v1/sessions/{id}/undelete":            s.undelete,
		"POST /v1/retention/plan":                    one(s.gates.heavy, s.plan),
		"POST /v1/retention/apply":                   one(s.gates.heavy, s.apply),
		"GET /v1/holds":                              s.holds,
		"POST /v1/sessions/{id}/hold":                s.hold,
		"POST /v1/sessions/{id}/unhold":              s.unhold,
		"GET /v1/sessions/{id}/erase":                one(s.gates.heavy, s.erasable),
		"POST /v1/sessions/{id}/erase":               one(s.gates.heavy, s.erase),
		"POST /v1/sessions/{id}/redact":              one(s.gates.heavy, s.redact),
		"POST /v1/sessions/{id}/close":               s.finish,
		"POST /v1/sessions/{id}/checkpoint":          s.checkpoint,
		"GET /v1/audit":                              s.audit,
		"GET /v1/rebuild":                            s.rebuild,
		"POST /v1/rebuild":                           s.recorded(one(s.gates.heavy, s.rebuild)),
		"GET /v1/prompts":                            s.prompts,
		"GET /v1/search":                             s.search,
		"GET /v1/sessions/changes":                   one(s.gates.followers, s.changes),
		"GET /v1/blobs":                              s.blobs,
		"GET /v1/blobs/{digest}":                     s.blob,
		"PUT /v1/blobs/{digest}":                     s.putBlob,
		"GET /v1/blobs/{digest}/info":                one(s.gates.heavy, s.blobInfo),
		"GET /v1/blobs/{digest}/verify":              s.verifyBlob,
		"POST /v1/blobs/{digest}/repair":             s.recorded(s.repairBlob),
		"POST /v1/blobs/gc":                          one(s.gates.heavy, s.collect),
		"GET /v1/ends/{shard}":                       one(s.gates.heavy, s.ends),
		"GET /v1/sessions/{id}/records":              s.records,
		"GET /v1/sessions/{id}/snapshots/{name}":     s.object,
		"PUT /v1/sessions/{id}/snapshots/{name}":     s.restores.part("snapshot", "snapshots", one(s.gates.heavy, s.restoreSnapshot)),
		"POST /v1/sessions/{id}/restore/plan":        one(s.gates.heavy, s.planRestore),
		"POST /v1/sessions/{id}/restore":             s.restores.part("session", "sessions", one(s.gates.heavy, s.restore)),
		"POST /v1/restore/blobs":                     s.wantBlobs,
		"PUT /v1/restore/blobs/{digest}":             s.restores.part("blob", "blobs", s.restoreBlob),
		"GET /v1/tokens":                             s.tokens,
		"POST /v1/tokens":                            s.createToken,
		"POST /v1/tokens/{token}/rotate":             s.rotateToken,
		"DELETE /v1/tokens/{token}":                  s.revokeToken,
		"GET /v1/whoami":                             s.whoami,
	}
}

// open is what anybody may ask, without a token.
func (s *Server) open() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /healthz":      s.healthz,
		"GET /readyz":       s.readyz,
		"GET /openapi.json": s.description,
	}
}

// An about says how a call stands to the sessions that its caller is bound to.
type about int

const (
	ofLog   about = iota // is about the whole log: not for who is bound to some sessions
	inPath               // is about the session in its path
	within               // its handler sees to it that it is about the caller's sessions alone
	nowhere              // is about no session
)

// noAct is a call that is no act of an operator: it changes nothing, or writes to
// sessions, which their own records tell.
const noAct = ""

// A right is what a call asks of its caller, and what it leaves of that.
type right struct {
	scope access.Scope
	about about
	act   string // what the audit records call it
}

// rights is what each call asks of its caller, and by which name the audit records
// have it. A call that is not here is for admins of the whole log alone; a test asks
// for a row of each, and another for a record of each act.
var rights = map[string]right{
	// Seeing sessions.
	"GET /v1/sessions":                       {access.Read, within, noAct},
	"GET /v1/sessions/changes":               {access.Read, within, noAct},
	"GET /v1/search":                         {access.Read, within, noAct},
	"GET /v1/events":                         {access.Read, within, noAct},
	"GET /v1/prompts":                        {access.Read, within, noAct},
	"GET /v1/sessions/{id}":                  {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/heads":            {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/state":            {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/children":         {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/tree":             {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/context":          {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/entries":          {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/digest":           {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/export":           {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/file":             {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/snapshot":         {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/events":           {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/verify":           {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/records":          {access.Read, inPath, noAct},
	"GET /v1/sessions/{id}/snapshots/{name}": {access.Read, inPath, noAct},
	"GET /v1/lineage":                        {access.Read, ofLog, noAct},
	"GET /v1/blobs":                          {access.Read, ofLog, noAct}, // a blob is no one session's
	"GET /v1/blobs/{digest}":                 {access.Read, ofLog, noAct},
	"GET /v1/blobs/{digest}/info":            {access.Read, ofLog, noAct},
	"GET /v1/blobs/{digest}/verify":          {access.Read, ofLog, noAct},
	"GET /v1/ends/{shard}":                   {access.Read, ofLog, noAct},
	"GET /v1/status":                         {access.Read, ofLog, noAct},
	"GET /v1/presence":                       {access.Read, ofLog, noAct},
	"GET /v1/verify":                         {access.Read, ofLog, noAct},
	"GET /v1/doctor":                         {access.Read, ofLog, noAct},
	"GET /v1/holds":                          {access.Read, ofLog, noAct},
	"GET /v1/whoami":                         {access.Read, nowhere, noAct},
	"GET /metrics":                           {access.Read, ofLog, noAct},

	// Making sessions and writing to them.
	"POST /v1/sessions":                          {access.Write, within, noAct},
	"POST /v1/import":                            {access.Write, within, noAct},
	"POST /v1/sessions/{id}/fork":                {access.Write, inPath, noAct}, // and within
	"POST /v1/sessions/{id}/merge":               {access.Write, inPath, noAct}, // and within
	"POST /v1/sessions/{id}/entries":             {access.Write, inPath, noAct},
	"PATCH /v1/sessions/{id}/entries/{entry}":    {access.Write, inPath, noAct},
	"PUT /v1/sessions/{id}/entries/{entry}/meta": {access.Write, inPath, noAct},
	"POST /v1/sessions/{id}/reactions":           {access.Write, inPath, noAct},
	"POST /v1/sessions/{id}/branch":              {access.Write, inPath, noAct},
	"POST /v1/sessions/{id}/labels":              {access.Write, inPath, noAct},
	"POST /v1/sessions/{id}/name":                {access.Write, inPath, noAct},
	"PUT /v1/sessions/{id}/heads/{head}":         {access.Write, inPath, noAct},
	"POST /v1/sessions/{id}/claims":              {access.Write, inPath, noAct},
	"DELETE /v1/sessions/{id}/claims/{name}":     {access.Write, inPath, noAct},
	"POST /v1/sessions/{id}/close":               {access.Write, inPath, noAct},
	"POST /v1/sessions/{id}/checkpoint":          {access.Write, inPath, noAct},
	"POST /v1/sessions/{id}/delete":              {access.Write, inPath, "delete"}, // to the trash
	"POST /v1/sessions/{id}/undelete":            {access.Write, inPath, "undelete"},
	"PUT /v1/blobs/{digest}":                     {access.Write, nowhere, noAct}, // stores what the caller has
	"PUT /v1/presence/{id}":                      {access.Write, nowhere, noAct}, // a hint about a process
	"DELETE /v1/presence/{id}":                   {access.Write, nowhere, noAct},

	// Removing for good, mending, restoring, and what others did.
	"GET /v1/sessions/{id}/erase":            {access.Admin, inPath, noAct},
	"POST /v1/sessions/{id}/erase":           {access.Admin, inPath, "erase"},
	"POST /v1/sessions/{id}/redact":          {access.Admin, inPath, "redact"},
	"POST /v1/sessions/{id}/hold":            {access.Admin, inPath, "hold"},
	"POST /v1/sessions/{id}/unhold":          {access.Admin, inPath, "unhold"},
	"POST /v1/sessions/{id}/repair":          {access.Admin, inPath, "repair"},
	"POST /v1/sessions/{id}/restore/plan":    {access.Admin, inPath, noAct},
	"POST /v1/sessions/{id}/restore":         {access.Admin, inPath, "restore"},
	"PUT /v1/sessions/{id}/snapshots/{name}": {access.Admin, inPath, "restore"},
	"POST /v1/restore/blobs":                 {access.Admin, ofLog, noAct},
	"PUT /v1/restore/blobs/{digest}":         {access.Admin, ofLog, "restore"},
	"POST /v1/retention/plan":                {access.Admin, ofLog, noAct},
	"POST /v1/retention/apply":               {access.Admin, ofLog, "retention"},
	"POST /v1/blobs/{digest}/repair":         {access.Admin, ofLog, "repair-blob"},
	"POST /v1/blobs/gc":                      {access.Admin, ofLog, "gc"},
	"POST /v1/doctor":                        {access.Admin, ofLog, "doctor-fix"},
	"GET /v1/rebuild":                        {access.Admin, ofLog, noAct},
	"POST /v1/rebuild":                       {access.Admin, ofLog, "rebuild"},
	"GET /v1/audit":                          {access.Admin, ofLog, noAct},
	"GET /v1/tokens":                         {access.Admin, ofLog, noAct},
	"POST /v1/tokens":                        {access.Admin, ofLog, "token-create"},
	"POST /v1/tokens/{token}/rotate":         {access.Admin, ofLog, "token-rotate"},
	"DELETE /v1/tokens/{token}":              {access.Admin, ofLog, "token-revoke"},
}

// rightOf is what a call asks of its caller.
func rightOf(pattern string) right {
	if r, ok := rights[pattern]; ok {
		return r
	}
	return right{access.Admin, ofLog, noAct}
}
