package dataset

import (
	"fmt"
	"testing"
)

func TestPositive(t *testing.T) {
	label := func(name string, rows int64) Label { return Label{Name: name, Rows: rows} }
	for _, c := range []struct {
		labels []Label
		name   string
		want   int
		err    string
	}{
		{[]Label{label("1", 1), label("-1", 9)}, "", 0, ""},
		{[]Label{label("0", 1), label("1", 9)}, "", 1, ""},
		{[]Label{label("2", 1), label("1", 9)}, "", 0, ""},
		{[]Label{label("10", 1), label("9", 9)}, "", 0, ""},
		{[]Label{label("ham", 9), label("spam", 1)}, "", 1, ""},
		{[]Label{label("spam", 1), label("ham", 9)}, "", 0, ""},
		{[]Label{label("b", 5), label("a", 5)}, "", 0, ""},
		{[]Label{label("a", 5), label("1", 4)}, "", 1, ""},
		{[]Label{label("0", 1), label("1", 2), label("2", 3)}, "+1.0", 1, ""},
		{[]Label{label("normal.", 1), label("smurf.", 2)}, "normal.", 0, ""},
		{
			[]Label{label("0", 1), label("1", 2), label("-1", 3)},
			"", 0,
			`x: 3 labels where two are needed: "0" (1), "1" (2), "-1" (3); name the positive one (--positive)`,
		},
		{[]Label{label("1", 3)}, "", 0, `x: every row has the label "1"; two classes are needed`},
		{[]Label{label("1", 3)}, "7", 0, `x: no row has the positive label "7"; the labels are "1" (3)`},
	} {
		got, err := Info{Labels: c.labels, Inputs: []string{"x"}}.Positive(c.name)
		if msg := fmt.Sprint(err); (c.err == "" && err != nil) || (c.err != "" && msg != c.err) || got != c.want {
			t.Errorf("%v, %q: got %d, %v; want %d, %s", c.labels, c.name, got, err, c.want, c.err)
		}
	}
}
