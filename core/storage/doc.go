// Package storage defines what the protocol and the logs below it share: records
// whose bodies are fetched later, the store of large bodies, the space reserved
// for repairs, and errors of damaged records.
package storage
