// Package fsblob keeps a blobstore.Bucket in a directory: the object with the
// key "a/b" is the file a/b. It is the store of a node that runs alone; several
// processes of one host may use the same directory.
//
// A Put writes a file of its own under .tmp, flushes it, renames it to its
// place and flushes the directory; a directory made on the way is flushed into
// its parent first. So a file outside .tmp is always a whole object, kill -9
// leaves at most files in .tmp, and those are swept by the next Open that has
// the directory to itself. Nothing needs repair.
//
// Files have mode 0600, directories 0700. Names beginning with a dot belong to
// this package, and files whose names no key could have are passed over, so a
// lost+found does no harm. Directories are never removed: one that a crash
// could take back must be flushed anew by whoever uses it, and who else removes
// directories cannot be known. An emptied one costs an inode.
//
// What the package cannot do is tell a directory whose disk was not mounted
// when it was opened from an empty one.
package fsblob
