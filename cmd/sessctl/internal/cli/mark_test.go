package cli

import "testing"

func TestMarkedShowsTheWordFound(t *testing.T) {
	t.Parallel()
	s := Screen{Width: 30, Colors: true}
	plain := Screen{Width: 30}
	for _, c := range []struct {
		text      string
		words     []string
		want, dry string
	}{
		{"use port 80", []string{"port"}, "use \x1b[4mport\x1b[0m 80", "use port 80"},
		{"portals have a port", []string{"port"}, "portals have a \x1b[4mport\x1b[0m", "portals have a port"},
		{"nothing is here", []string{"port"}, "nothing is here", "nothing is here"},
		{
			"a long text in which the word port comes late, and then more",
			[]string{"port"},
			"…the word \x1b[4mport\x1b[0m comes late, an…", "…the word port comes late, an…",
		},
		{"端口是八零八零", []string{"口"}, "端\x1b[4m口\x1b[0m是八零八零", "端口是八零八零"},
		{"", []string{"", "x"}, "", ""},
	} {
		if got := s.Marked(c.text, c.words, 0); got != c.want {
			t.Errorf("%q in color: %q, want %q", c.text, got, c.want)
		}
		if got := plain.Marked(c.text, c.words, 0); got != c.dry || Columns(got) > 30 {
			t.Errorf("%q: %q, want %q", c.text, got, c.dry)
		}
	}
}
