// Package powercut runs a real node on a file system that forgets what was not flushed,
// and cuts its power while clients append. After each cut, the node starts again, and
// every acknowledged line must be there, byte for byte.
//
//	go test ./test/powercut                                  a few cuts; needs /dev/fuse
//	go test ./test/powercut -v -args -cuts 100               more
//	go test ./test/powercut -v -args -cuts 100 -seed 4711    the same choices again
//
// The file system is stricter than real ones. A write, a new name, a rename or a removal
// survives for certain only if its file or directory was flushed afterwards. Of the rest,
// any part may survive, in any order: a rename without the content of the renamed file,
// the second half of a block without the first.
package powercut
