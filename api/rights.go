package api

import "github.com/sesslog/sesslog/access"

// An about says how a call stands to the sessions that its caller is bound to.
type about int

const (
	ofLog   about = iota // is about the whole log: not for who is bound to some sessions
	inPath               // is about the session in its path
	within               // its handler sees to it that it is about the caller's sessions alone
	nowhere              // is about no session
)

// A right is what a call asks of its caller.
type right struct {
	scope access.Scope
	about about
}

// rights is what each call asks of its caller. A call that is not here is for
// admins of the whole log alone; a test asks for a row of each.
var rights = map[string]right{
	// Seeing sessions.
	"GET /v1/sessions":                       {access.Read, within},
	"GET /v1/sessions/changes":               {access.Read, within},
	"GET /v1/search":                         {access.Read, within},
	"GET /v1/events":                         {access.Read, within},
	"GET /v1/prompts":                        {access.Read, within},
	"GET /v1/sessions/{id}":                  {access.Read, inPath},
	"GET /v1/sessions/{id}/heads":            {access.Read, inPath},
	"GET /v1/sessions/{id}/state":            {access.Read, inPath},
	"GET /v1/sessions/{id}/children":         {access.Read, inPath},
	"GET /v1/sessions/{id}/tree":             {access.Read, inPath},
	"GET /v1/sessions/{id}/context":          {access.Read, inPath},
	"GET /v1/sessions/{id}/entries":          {access.Read, inPath},
	"GET /v1/sessions/{id}/digest":           {access.Read, inPath},
	"GET /v1/sessions/{id}/export":           {access.Read, inPath},
	"GET /v1/sessions/{id}/file":             {access.Read, inPath},
	"GET /v1/sessions/{id}/snapshot":         {access.Read, inPath},
	"GET /v1/sessions/{id}/events":           {access.Read, inPath},
	"GET /v1/sessions/{id}/verify":           {access.Read, inPath},
	"GET /v1/sessions/{id}/records":          {access.Read, inPath},
	"GET /v1/sessions/{id}/snapshots/{name}": {access.Read, inPath},
	"GET /v1/lineage":                        {access.Read, ofLog},
	"GET /v1/blobs":                          {access.Read, ofLog}, // a blob is no one session's
	"GET /v1/blobs/{digest}":                 {access.Read, ofLog},
	"GET /v1/blobs/{digest}/info":            {access.Read, ofLog},
	"GET /v1/blobs/{digest}/verify":          {access.Read, ofLog},
	"GET /v1/ends/{shard}":                   {access.Read, ofLog},
	"GET /v1/status":                         {access.Read, ofLog},
	"GET /v1/presence":                       {access.Read, ofLog},
	"GET /v1/verify":                         {access.Read, ofLog},
	"GET /v1/doctor":                         {access.Read, ofLog},
	"GET /v1/holds":                          {access.Read, ofLog},
	"GET /v1/whoami":                         {access.Read, nowhere},
	"GET /metrics":                           {access.Read, ofLog},

	// Making sessions and writing to them.
	"POST /v1/sessions":                          {access.Write, within},
	"POST /v1/import":                            {access.Write, within},
	"POST /v1/sessions/{id}/fork":                {access.Write, inPath}, // and within
	"POST /v1/sessions/{id}/merge":               {access.Write, inPath}, // and within
	"POST /v1/sessions/{id}/entries":             {access.Write, inPath},
	"PATCH /v1/sessions/{id}/entries/{entry}":    {access.Write, inPath},
	"PUT /v1/sessions/{id}/entries/{entry}/meta": {access.Write, inPath},
	"POST /v1/sessions/{id}/reactions":           {access.Write, inPath},
	"POST /v1/sessions/{id}/branch":              {access.Write, inPath},
	"POST /v1/sessions/{id}/labels":              {access.Write, inPath},
	"POST /v1/sessions/{id}/name":                {access.Write, inPath},
	"PUT /v1/sessions/{id}/heads/{head}":         {access.Write, inPath},
	"POST /v1/sessions/{id}/claims":              {access.Write, inPath},
	"DELETE /v1/sessions/{id}/claims/{name}":     {access.Write, inPath},
	"POST /v1/sessions/{id}/close":               {access.Write, inPath},
	"POST /v1/sessions/{id}/checkpoint":          {access.Write, inPath},
	"POST /v1/sessions/{id}/delete":              {access.Write, inPath}, // to the trash
	"POST /v1/sessions/{id}/undelete":            {access.Write, inPath},
	"PUT /v1/blobs/{digest}":                     {access.Write, nowhere}, // stores what the caller has
	"OPTIONS /v1/uploads":                        {access.Write, nowhere},
	"POST /v1/uploads":                           {access.Write, nowhere}, // bytes that only the caller sees
	"HEAD /v1/uploads/{upload}":                  {access.Write, nowhere},
	"PATCH /v1/uploads/{upload}":                 {access.Write, nowhere},
	"DELETE /v1/uploads/{upload}":                {access.Write, nowhere},
	"POST /v1/uploads/{upload}/import":           {access.Write, within},
	"POST /v1/uploads/{upload}/blob":             {access.Write, nowhere}, // as PUT of a blob
	"PUT /v1/presence/{id}":                      {access.Write, nowhere}, // a hint about a process
	"DELETE /v1/presence/{id}":                   {access.Write, nowhere},

	// Removing for good, mending, restoring, and what others did.
	"GET /v1/sessions/{id}/erase":            {access.Admin, inPath},
	"POST /v1/sessions/{id}/erase":           {access.Admin, inPath},
	"POST /v1/sessions/{id}/redact":          {access.Admin, inPath},
	"POST /v1/sessions/{id}/hold":            {access.Admin, inPath},
	"POST /v1/sessions/{id}/unhold":          {access.Admin, inPath},
	"POST /v1/sessions/{id}/repair":          {access.Admin, inPath},
	"POST /v1/sessions/{id}/restore/plan":    {access.Admin, inPath},
	"POST /v1/sessions/{id}/restore":         {access.Admin, inPath},
	"PUT /v1/sessions/{id}/snapshots/{name}": {access.Admin, inPath},
	"POST /v1/restore/blobs":                 {access.Admin, ofLog},
	"PUT /v1/restore/blobs/{digest}":         {access.Admin, ofLog},
	"POST /v1/retention/plan":                {access.Admin, ofLog},
	"POST /v1/retention/apply":               {access.Admin, ofLog},
	"POST /v1/blobs/{digest}/repair":         {access.Admin, ofLog},
	"POST /v1/blobs/gc":                      {access.Admin, ofLog},
	"POST /v1/doctor":                        {access.Admin, ofLog},
	"GET /v1/rebuild":                        {access.Admin, ofLog},
	"POST /v1/rebuild":                       {access.Admin, ofLog},
	"GET /v1/audit":                          {access.Admin, ofLog},
	"GET /v1/tokens":                         {access.Admin, ofLog},
	"POST /v1/tokens":                        {access.Admin, ofLog},
	"POST /v1/tokens/{token}/rotate":         {access.Admin, ofLog},
	"DELETE /v1/tokens/{token}":              {access.Admin, ofLog},
}

// rightOf is what a call asks of its caller.
func rightOf(pattern string) right {
	if r, ok := rights[pattern]; ok {
		return r
	}
	return right{access.Admin, ofLog}
}
