// Package bytestream is the dialect of byte streams: sequences of appended bodies
// of one content type, as the durable-streams protocol has them. No agent writes
// such sessions; package api/durablestreams does.
//
// A session is a header and one line per append:
//
//	{"type":"byte-stream","version":1,"id":"…","timestamp":"…","path":"a/b","contentType":"text/plain"}
//	{"type":"append","id":"…","timestamp":"…","length":5,"text":"hello"}
//	{"type":"append","id":"…","timestamp":"…","length":3,"base64":"AAEC","producer":{"id":"p","epoch":0,"seq":0}}
//	{"type":"append","id":"…","timestamp":"…","length":7,"json":[{"a":1}],"seq":"0001"}
//	{"type":"close","id":"…","timestamp":"…"}
//
// A body is kept as text if it is valid UTF-8, otherwise as base64. Streams of JSON keep
// the values of an append. Lines of the types touch, fork and delete have no place in the
// tree: they note that the stream was read, forked or deleted.
//
// [State] folds lines into what a writer needs to know: the length, the last sequence
// numbers of the producers, and whether the stream is closed.
package bytestream
