package api

// HeaderLost names what a conversion lost: a JSON list of {"what","count"}, the
// most frequent first, at most 30 of them.
const HeaderLost = "Sess-Lost"

// Prefix is where the calls are, DryRunPrefix where the dry runs of the same calls are.
const (
	// Prefix is the path of all calls, DryRunPrefix that of their dry runs.
	Prefix       = "/v1/"
	DryRunPrefix = "/v1/dry-run/"
)

// HeaderDryRun is a header that, if it is "true", makes a call that writes to
// sessions a dry run: it is checked and answered, and nothing is stored. A call
// without a dry run is rejected. Calls below /v1/dry-run/ need no header.
const HeaderDryRun = "Sess-Dry-Run"

// HeaderPrefer is how long the caller waits: "wait=5", in whole seconds (RFC
// 7240).
const HeaderPrefer = "Prefer"

// Headers of requests and answers that HTTP does not define.
const (
	// HeaderWriter names the claim of a write.
	HeaderWriter = "Sess-Writer"
	// HeaderHead names the head of a request; default "main".
	HeaderHead = "Sess-Head"
	// HeaderCursor is the session's cursor at the time of the answer.
	HeaderCursor = "Sess-Cursor"
	// HeaderRange says which entries an answer with from or limit has, and how many
	// there are: 200-299/1000, or */1000 if it has none. The first entry is 0.
	HeaderRange = "Sess-Range"
	// HeaderDialect names the dialect of the file.
	HeaderDialect = "Sess-Dialect"
	// HeaderDir and HeaderFile say where the agent looks for the file, below its root
	// of sessions.
	HeaderDir  = "Sess-Dir"
	HeaderFile = "Sess-File"
	// HeaderSnapshot is the object key of a snapshot.
	HeaderSnapshot = "Sess-Snapshot"
	// HeaderLineage is "off" for a new session that does not say where it came from. A
	// header that the caller gives stays.
	HeaderLineage = "Sess-Lineage"
	// HeaderIdempotency makes the ids of lines that have none.
	HeaderIdempotency = "Idempotency-Key"
)
