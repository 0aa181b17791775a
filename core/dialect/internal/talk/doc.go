// Package talk turns the messages of pi and omp, which are alike, into items
// and items into such messages.
package talk
