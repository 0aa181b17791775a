package server

import "github.com/sesslog/sesslog/api/access"

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
