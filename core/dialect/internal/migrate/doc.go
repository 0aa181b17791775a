// Package migrate converts files of older versions to version 3, by the algorithm
// that pi and the agents derived from it share. The agents draw some ids at random;
// here they are derived from the content.
package migrate
