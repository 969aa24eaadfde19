package dataset

import (
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

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
