// Package fsblob keeps a blobstore.Bucket in a directory: the object with the
// key "a/b" is the file a/b. It is the store of a single-node installation;
// several processes of one host may share the directory.
//
// Put writes a temporary file under .tmp, syncs it, renames it and syncs the
// directory; a new directory is synced into its parent first. So a file outside
// .tmp is always a complete object, and kill -9 leaves at most files in .tmp,
// which the next Open with exclusive access removes. Nothing needs repair.
//
// Files have mode 0600, directories 0700. Names that start with a dot are
// reserved for this package, and files whose names are not valid keys, such as
// lost+found, are ignored. Directories are never removed: concurrent processes
// could then not rely on a directory being durable. An empty one costs an inode.
//
// The package cannot distinguish an empty directory from a mount point whose disk
// was not mounted.
package fsblob
