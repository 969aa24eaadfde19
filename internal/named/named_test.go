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

// TestDidYouMean: a name with few mistakes is recognised, another one is not.
func TestDidYouMean(t *testing.T) {
	names := []string{"ogd-adaptive", "ogd-fixed", "exp3", "exp3-ix", "ftrl", "f1", "f2", "linear-ball"}
	for name, want := range map[string]string{
		"ogd-adaptve": "ogd-adaptive", "ogd-adpative": "ogd-adaptive", "OGD-Fixed": "ogd-fixed", "ftlr": "ftrl",
		"exp": "exp3", "exp3ix": "exp3-ix", "f7": "f1", "ball": "linear-ball", "linear_ball": "linear-ball",
		"adahedge": "", "x": "", "": "", "a name that is much longer than all that there are": "",
	} {
		got := named.DidYouMean(name, names)
		if want != "" {
			want = "did you mean " + want + "? "
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	const want = `"ftlr": did you mean ftrl? want one of f1, ftrl`
	if got := named.Unknown("ftlr", []string{"f1", "ftrl"}); got != want {
		t.Errorf("got %s, want %s", got, want)
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
