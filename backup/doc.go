// Package backup keeps the sessions of a log in a place of its own, from which
// they can be brought back without that log, its servers or its object store.
//
// The nouns:
//
//   - A Repo is where backups are: a blobstore.Bucket that holds objects and runs.
//   - An object is bytes under their SHA-256: a piece of a session's records, a
//     snapshot as a node had stored it, a blob, a list of blobs.
//   - A Run is one backup: which sessions the log had, where each ended, and the
//     objects it is made of, with digest and size. The name of a run has the
//     digest of its bytes.
//   - A History is what the objects of one session say, put together and proved.
//
// The promises:
//
//   - Nothing is believed that is not proved: every byte is held to a digest, and
//     every record to the one before it, when a backup is taken and whenever it
//     is read. What is found to be something else is named.
//   - A run that is there is whole: it is written last. What a backup that broke
//     off has written is found by the next one and not sent again.
//   - A session that did not change since the run before is not read.
//   - Nothing is ever written over or deleted, but the notes that an unfinished
//     run leaves for the next one.
//   - What is restored has the same records with the same chains, or it is
//     refused with the reason. A session that was erased since stays erased unless
//     the caller says otherwise.
//
// Take reads from a node and writes to a Repo, Restore does the opposite, Verify
// needs the Repo alone. All bytes are described in docs/FORMAT.md.
package backup
