package core

// The requests and receipts of the protocol, in one vocabulary for the log, its
// servers and their clients.

// A Receipt says where appended lines are.
type Receipt struct {
	IDs    []string `json:"ids"`            // of each line, in order
	Cursor Cursor   `json:"seq"`            // of the record that holds them, or of a later one
	Stored int      `json:"stored"`         // lines that the session did not have before
	Blobs  int      `json:"blobs"`          // images stored as blobs
	Head   string   `json:"head,omitempty"` // the head that the lines are on
}

// A ClaimRequest asks for the exclusive right to write to a head.
type ClaimRequest struct {
	Head  string `json:"head,omitempty"`  // default "main"
	Agent string `json:"agent,omitempty"` // who asks, for people: a program, a host, a person
	Host  string `json:"host,omitempty"`
	By    string `json:"by,omitempty"`
	// TakeOver claims the head even if another writer holds it, and fences that
	// writer.
	TakeOver bool `json:"takeOver,omitempty"`
	// From, with TakeOver, is the only writer that the head may be taken from.
	// Empty for any writer.
	From string `json:"from,omitempty"`
	// Writer is the name of the new writer, which no writer may have had before;
	// the default is a new one. A request that names its writer can be sent
	// again if its answer was lost. If it takes over from any writer, the second
	// try takes the head again from a writer that ended the claim in between:
	// name From to prevent that.
	Writer string `json:"writer,omitempty"`
}
