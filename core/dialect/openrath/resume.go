package openrath

import "slices"

// remoteBackend is the one whose sandboxes outlive a process.
const remoteBackend = "opensandbox"

// Resume returns two sessions to go on from l with: one called user that holds
// all its rows, and one called agent that holds what the agent is to be told:
// prompt where that is given, also an empty one, else the first system row of
// l, else nothing. Neither tells where it came from, and nothing is on their
// bill. The user's sandbox is to be opened anew by backend and spec; only
// where it is a remote one with a UUID is its handle kept, to be attached to.
func (l Loaded) Resume(user, agent string, prompt *string) (Session, Session) {
	u := implicit(user, l.Rows)
	u.Sandbox = Sandbox{Backend: l.Sandbox.Backend, Spec: slices.Clone(l.Sandbox.Spec)}
	if _, ok := canonicalUUID(l.Sandbox.Handle); ok && l.Sandbox.Backend == remoteBackend {
		u.Sandbox.Handle = l.Sandbox.Handle
	}
	if prompt != nil {
		return u, FromAgentPrompt(agent, *prompt)
	}
	for _, c := range l.Rows.All() {
		if c.kind == KindSystem {
			return u, FromAgentPrompt(agent, c.Content())
		}
	}
	return u, implicit(agent, Table{})
}
