// Package catalog defines listings and searches of sessions: rows, filters, pages
// and hits.
package catalog
