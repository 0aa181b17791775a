// Package modelproc is a loop.Model in another process. The libraries of vendors are
// large: a program that has its model in sessmodel, which calls Serve, does not link
// them.
package modelproc
