// Package notice derives notices for users from changes of a session: another writer
// took it over, it was split, or its agent waits for its user. It compares two rows of
// the session, so nodes and clients derive the same notices.
package notice
