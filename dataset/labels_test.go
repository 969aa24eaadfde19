package dataset

import (
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

// Equal numbers are one label, and whole numbers that float64 does not tell apart are several.
func TestLabelName(t *testing.T) {
	for text, want := range map[string]string{
		"+1": "1", "1.0": "1", "-0": "0", "1e3": "1000", "x": "x", "007": "7",
		"9007199254740992": "9.007199254740992e+15", "9007199254740993": "9007199254740993",
		"-009007199254740993": "-9007199254740993", "+9007199254740993": "9007199254740993",
		"10000000000000000": "1e+16", "1e16": "1e+16", "10000000000000001": "10000000000000001",
	} {
		got, err := LabelName(text)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
		if again, err := LabelName(got); err != nil || again != got {
			t.Errorf("%s: %q, and again %q, %v", text, got, again, err)
		}
	}
	if _, err := LabelName(""); noregret.CodeOf(err) != noregret.BadInput {
		t.Error(err)
	}
	text := strings.Repeat("1 1:1\n9007199254740993 1:2\n9007199254740992 1:3\n", 2)
	if i, err := readAll(Options{}, writeFile(t, "a.svm", text)); err != nil || len(i.Labels) != 3 {
		t.Errorf("%v, labels %v", err, i.Labels)
	}
}

func TestLabelList(t *testing.T) {
	for name, want := range map[string][]string{
		"": nil, " ": nil, "3": {"3"}, "1,3": {"1", "3"}, "3, 1.0": {"3", "1"},
		"news,old sports ": {"news", "old sports"},
	} {
		if got, err := LabelList(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"1,,3": "the label is empty", ",1": "the label is empty", "1,": "the label is empty",
		"1,nan": "finite", "1,1.0": `the label "1" is listed twice`, "a,b,a": `the label "a" is listed twice`,
	} {
		if got, err := LabelList(name); noregret.CodeOf(err) != noregret.BadInput ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want an error with %q", name, got, err, want)
		}
	}
}
