// Package s3server runs a real S3 server, versitygw, for tests: over TLS, on a
// free port of the loopback interface, with its data in a temporary directory.
//
// The server is built from the module in tools, which pins its version, once
// per version and machine; the binary is kept in the user's cache directory.
// The first build downloads its sources and takes a minute or two.
//
// Use the server for tests only: it does not sync what it acknowledges.
package s3server
