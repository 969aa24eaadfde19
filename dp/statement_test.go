package dp

import (
	"slices"
	"strings"
	"testing"
)

// A statement names everything that a claim rests on, and warns.
func TestStatement(t *testing.T) {
	l := newLattice(t, 3, 1000, L2, 5)
	s, err := NewStream(StreamConfig{Kind: Honaker, Lattice: l, Protection: PerUser(4), Budget: gdp(t, 1, 0.01)})
	if err != nil {
		t.Fatal(err)
	}
	text := s.Statement().String()
	for _, want := range []string{
		"honaker prefix sums with discrete Gaussian noise", "replace-one", "one user with at most 4 records",
		"epsilon = 1", "delta = 0.01", "GDP", "rho = ", "clipped to l2 norm 5", "at most 1000 records", "sigma",
		"crypto/rand",
		"version: 1", "not protected", "the time at which results appear", "unless the program enforces",
		"at least 1/n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the statement lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "NOT PRIVATE") || strings.Contains(text, "INSECURE") {
		t.Errorf("a secure stream is called insecure:\n%s", text)
	}
	insecure := newTestStream(t, Tree, 1, 10, 1, zcdp(t, 1, 1e-4),
		WithInsecureDeterministicNoiseForTesting(1)).Statement()
	none, err := NewZeroStream(l, 1)
	if err != nil {
		t.Fatal(err)
	}
	zeroSelector, err := NewZeroSelector(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range []Statement{insecure, none.Statement(), zeroSelector.Statement()} {
		if text := st.String(); st.Private || !strings.HasPrefix(text, "NOT PRIVATE") || len(st.Warnings) == 0 {
			t.Errorf("no warning:\n%s", text)
		}
	}
	selector, err := NewSelector(selectorConfig(t, 4, 1000))
	if err != nil {
		t.Fatal(err)
	}
	st := selector.Statement()
	if !st.Private || !slices.Contains(st.Exposes, "the exact scores, which must stay secret") ||
		len(st.Warnings) != 0 {
		t.Errorf("selector:\n%s", st)
	}
	out := Protection{Adjacency: ZeroOut, Records: 1}
	zs, err := NewStream(StreamConfig{Kind: Tree, Lattice: l, Protection: out, Budget: zcdp(t, 1, 1e-6)})
	if err != nil {
		t.Fatal(err)
	}
	if text := zs.Statement().String(); !strings.Contains(text, "not comparable") {
		t.Errorf("zero-out adjacency without a warning:\n%s", text)
	}
}
