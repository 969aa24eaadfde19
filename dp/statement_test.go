package dp

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A statement names everything that a claim rests on, and warns.
func TestStatement(t *testing.T) {
	l := newLattice(t, 3, 1000, L2, 5)
	s, err := NewStream(StreamConfig{
		Kind: Honaker, Lattice: l, Batch: 1, Protection: PerUser(4), Budget: gdp(t, 1, 0.01),
	})
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
	zs, err := NewStream(StreamConfig{Kind: Tree, Lattice: l, Batch: 1, Protection: out, Budget: zcdp(t, 1, 1e-6)})
	if err != nil {
		t.Fatal(err)
	}
	if text := zs.Statement().String(); !strings.Contains(text, "not comparable") {
		t.Errorf("zero-out adjacency without a warning:\n%s", text)
	}
}

// A budget is warned of from the values on that the words say, and no earlier.
func TestBudgetWarnings(t *testing.T) {
	for _, tc := range []struct {
		epsilon, delta, units float64
		want                  []string
	}{
		{1, 1e-6, 1000, nil},
		{10, 0.000999, 1000, nil},
		{10.01, 1e-6, 1000, []string{"epsilon = 10.01 is above 10"}},
		{1, 0.001, 1000, []string{"delta = 0.001 is at least 1/n = 0.001"}},
		{20, 0.5, 1000, []string{"epsilon = 20 is above 10", "delta = 0.5 is at least 1/n = 0.001"}},
		{5, 0, 1, nil},
	} {
		got := BudgetWarnings(tc.epsilon, tc.delta, tc.units)
		if len(got) != len(tc.want) {
			t.Errorf("%+v: %q", tc, got)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], tc.want[i]) {
				t.Errorf("%+v: %q", tc, got)
			}
		}
	}
}

// What is spent is a number for every budget that an account can have, and at most its ε.
func TestSpentIsANumber(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 50, 600, 900, 5000} {
		gaussian, err := GDPBudget(epsilon, 1e-5)
		concentrated, err2 := ZCDPBudget(epsilon, 1e-5)
		pure, err3 := PureBudget(epsilon)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		for name, budget := range map[string]Budget{"GDP": gaussian, "zCDP": concentrated, "pure": pure} {
			l, err := OpenLedger(new(MemoryStore))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Open("a", AccountConfig{Protection: PerRecord(), Budget: budget}); err != nil {
				t.Fatal(err)
			}
			cost := budget.cost * 0.999
			c := Charge{Protection: PerRecord(), Accounting: budget.Accounting()}
			switch budget.Accounting() {
			case GDP:
				c.MuSq = cost * cost
			case Pure:
				c.PureEps = cost
			default:
				c.Rho = cost
			}
			if _, err := l.Reserve("a", Run{ID: "r", Charge: c}); err != nil {
				t.Fatal(name, epsilon, err)
			}
			spent, err := l.Spent("a", budget.Delta())
			if err != nil || !(spent > 0.9*epsilon && spent <= epsilon) {
				t.Errorf("%s, epsilon %v: spent %v, %v", name, epsilon, spent, err)
			}
		}
	}
}
