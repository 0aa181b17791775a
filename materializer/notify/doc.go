// Package notify sends notices of sessions to webhooks, in the form of
// https://www.standardwebhooks.com.
//
// Every node derives the notices of a log from its rows, and stores them in the
// stream SESSNOTICES_<log>, one message for each URL. The id of a message is that of
// the event, so the stream keeps the first and drops those of the other nodes. The
// nodes share a consumer for each URL, so one of them sends each notice, again with
// exponential backoff until the receiver answers with success, at most maxSends times
// within a day.
//
// Guarantees: a notice in the stream is sent at least once, unless it expires, its
// receiver answers 410, maxSends deliveries fail, or maxNotices newer ones replace it. A
// receiver can see it twice, with the same webhook-id. A node stores a notice before
// its directory passes the record, so a crash repeats it and does not lose it; while the
// stream does not answer, notices are logged and dropped. Each node sends at most ten
// requests a second to each URL.
package notify
