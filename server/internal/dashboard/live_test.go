package dashboard

import (
	"errors"
	"html/template"
	"testing"
)

// TestRenderings checks that viewers of one page share a rendering until the state changes or
// rendering fails.
func TestRenderings(t *testing.T) {
	var r renderings
	made, failed := 0, errors.New("rendering failed")
	first, second := make(chan struct{}), make(chan struct{})
	of := func(page string, changed chan struct{}, err error) error {
		_, _, got := r.get(page, changed, func() (map[string]template.HTML, error) {
			made++
			return map[string]template.HTML{"a": "b"}, err
		})
		return got
	}
	for _, step := range []struct {
		page    string
		changed chan struct{}
		err     error
		want    int
	}{
		{"/x", first, nil, 1},
		{"/x", first, nil, 1},
		{"/y", first, nil, 2},
		{"/x", second, nil, 3},
		{"/x", second, nil, 3},
		{"/x", first, failed, 4},
		{"/x", second, nil, 5},
	} {
		if err := of(step.page, step.changed, step.err); err != step.err || made != step.want {
			t.Errorf("%+v: %v, %d made", step, err, made)
		}
	}
}
