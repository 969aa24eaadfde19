package named_test

import (
	"errors"
	"testing"

	"github.com/noregret/noregret/internal/named"
)

type thing struct{ name string }

func nameOf(t *thing) string { return t.name }

var things = []thing{{"a"}, {"b"}}

func TestFind(t *testing.T) {
	if x, err := named.Find("thing", "b", things, nameOf); err != nil || x != &things[1] {
		t.Errorf("b: %v, %v", x, err)
	}
	if _, err := named.Find("thing", "c", things, nameOf); err == nil || err.Error() != `thing: "c": want one of a, b` {
		t.Errorf("c: %v", err)
	}
}

func TestCheckOptions(t *testing.T) {
	stop := errors.New("stop")
	var seen []string
	check := func(o *thing, v float64) error {
		seen = append(seen, o.name)
		if v < 0 {
			return stop
		}
		return nil
	}
	for _, tc := range []struct {
		given map[string]float64
		all   []thing
		want  string
	}{
		{map[string]float64{"b": 1, "a": 2}, things, ""},
		{map[string]float64{"b": 1, "a": -2}, things, "stop"},
		{map[string]float64{"c": 1}, things, `owner: no option "c": want one of a, b`},
		{map[string]float64{"c": 1}, nil, `owner: no option "c": there are no options`},
	} {
		err := named.CheckOptions("owner", tc.given, tc.all, nameOf, check)
		if got := message(err); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.given, got, tc.want)
		}
	}
	if len(seen) != 3 || seen[0] != "a" || seen[1] != "b" || seen[2] != "a" {
		t.Errorf("checked %v: want the order of the names, up to the first error", seen)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
