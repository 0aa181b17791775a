package api

// HeaderLost names what a conversion could not carry over: a JSON list of
// {"what","count"}, the most frequent first, at most maxLost of them.
const HeaderLost = "Sess-Lost"

// Prefix is where the calls are, DryRunPrefix where the dry runs of the same calls are.
const (
	Prefix       = "/v1/"
	DryRunPrefix = "/v1/dry-run/"
)

// HeaderDryRun is a header that, where it is "true", has a call that writes to sessions be checked
// and answered, and nothing stored. A call that has no dry run is refused. Below
// /v1/dry-run/ a call has it by itself.
const HeaderDryRun = "Sess-Dry-Run"

// HeaderPrefer says how long the caller waits for the answer: "wait=5", in whole
// seconds, as in RFC 7240.
const HeaderPrefer = "Prefer"

// Headers of requests and answers beyond HTTP's own.
const (
	// HeaderWriter names the claim that a write speaks from.
	HeaderWriter = "Sess-Writer"
	// HeaderHead names the head that a request is about; default "main".
	HeaderHead = "Sess-Head"
	// HeaderCursor is where the session stood when it was answered.
	HeaderCursor = "Sess-Cursor"
	// HeaderDialect says whose file it is.
	HeaderDialect = "Sess-Dialect"
	// HeaderDir and HeaderFile say where the agent looks for the file, below
	// its own root of sessions.
	HeaderDir  = "Sess-Dir"
	HeaderFile = "Sess-File"
	// HeaderSnapshot is the object key of a snapshot.
	HeaderSnapshot = "Sess-Snapshot"
	// HeaderIdempotency makes the ids of lines that have none.
	HeaderIdempotency = "Idempotency-Key"
)
