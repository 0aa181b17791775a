// Package notice tells what happened to a session that a person may want to know:
// it was taken over, it was split, or its agent waits for its user. It compares two
// rows of the session, so nodes and clients derive the same notices.
package notice
