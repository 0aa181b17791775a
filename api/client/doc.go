// Package client calls a log's nodes over HTTP.
//
// A Client makes the calls of package api; errors are those of package core, with
// the problem document attached.
//
// A client of several nodes talks to one and moves to the next if that does not
// accept a connection or answers core.ErrUnavailable. A write that was sent and not
// answered is core.ErrUncertain; repeating it, also through another node, is safe.
// The deadline of the context is sent along, so that the node gives up before the
// caller does.
//
// Log adapts a Client to session.Log, for package session.
package client
