package openrath

import "slices"

// remoteBackend is the one whose sandboxes outlive a process.
const remoteBackend = "opensandbox"

// Resume returns two sessions that continue l: one called user with all its
// rows, and one called agent with what the agent is told: prompt if it is not
// nil, even if empty, otherwise the first system row of l, otherwise nothing.
// Neither names its origin or has any usage. The user's sandbox is to be opened
// again by backend and spec; its handle is kept only if it is a remote one with
// a UUID, which can be attached to.
func (l Loaded) Resume(user, agent string, prompt *string) (Session, Session) {
	u := implicit(user, l.Rows)
	u.Sandbox = l.Sandbox.reattached()
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

// reattached returns what a resumed session has of s: the handle only if it is
// a remote one with a UUID.
func (s Sandbox) reattached() Sandbox {
	s.Spec = slices.Clone(s.Spec)
	if _, ok := canonicalUUID(s.Handle); !ok || s.Backend != remoteBackend {
		s.Handle = ""
	}
	return s
}
