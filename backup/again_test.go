package backup

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sesslog/sesslog/core"
)

func TestReadIsTriedAgainOnlyWhileUnavailable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fails []error
		tries int
		err   error
	}{
		{"at once", nil, 1, nil},
		{"after an election", []error{core.ErrUnavailable, core.ErrUnavailable}, 3, nil},
		{"never for another reason", []error{core.ErrNotFound}, 1, core.ErrNotFound},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := again(context.Background(), func() error {
				tries++
				if tries <= len(c.fails) {
					return c.fails[tries-1]
				}
				return nil
			})
			if tries != c.tries || err != c.err { //nolint:errorlint // again returns it as it is
				t.Errorf("%s: %d tries, %v", c.name, tries, err)
			}
		})
	}
}
