// Package secrets finds what looks like a secret in the lines of agents, and masks it
// before the lines leave the agent's host.
//
// The rules are those of gitleaks (gitleaks/gitleaks.toml, MIT licence), and those of a
// file that the user may add, in the same format. Rules that need the name of a file
// are not used.
//
// A mask is a function of the line and the rules alone, and masking a masked line
// changes nothing. So a file that is masked again gives the same lines. Members that
// agents rely on (ids, times, signatures, images) are never masked.
package secrets
