// Package talk converts the messages of pi and omp, which are alike, to items,
// and items to such messages.
package talk
