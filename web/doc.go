// Package web is the page on which people look at sessions, and its export as one
// file.
//
// The page reads by calls of the HTTP API in the same process, with the token of its
// user. So it has the rights of that token, and no rule about rights is written twice.
// Templates render all text; what agents wrote is never HTML of the page.
package web
