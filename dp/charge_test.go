package dp

import (
	"errors"
	"testing"
)

// The sum of noise that is made for zCDP and of noise that is made for Gaussian differential
// privacy has no μ²: an account in the latter must not take it at the μ² of one of them.
func TestChargeAddLosesNothing(t *testing.T) {
	rho := newTestStream(t, Tree, 1, 10, 1, zcdp(t, 0.5, 1e-5)).Charge()
	mu := newTestStream(t, Tree, 1, 10, 1, gdp(t, 0.5, 1e-5)).Charge()
	config := selectorConfig(t, 4, 10)
	var err error
	if config.Budget, err = PureBudget(0.1); err != nil {
		t.Fatal(err)
	}
	selector, err := NewSelector(config)
	if err != nil {
		t.Fatal(err)
	}
	pure := selector.Charge()
	approximate := Charge{Protection: PerRecord(), ApproxEps: 0.01, ApproxDelta: 1e-9}
	add := func(a, b Charge) Charge {
		t.Helper()
		sum, err := a.Add(b)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	for name, c := range map[string]Charge{
		"zCDP and GDP":                  add(rho, mu),
		"GDP and zCDP":                  add(mu, rho),
		"GDP and pure":                  add(mu, pure),
		"zCDP and approximate":          add(rho, approximate),
		"zCDP, GDP and approximate":     add(add(rho, mu), approximate),
		"zCDP and approximate together": add(approximate, rho),
	} {
		if c.MuSq != 0 || c.Slack != 0 || c.PureEps != 0 || c.Accounting != ZCDP || !(c.Rho >= 0.999*rho.Rho) {
			t.Errorf("%s: %+v, want ρ only", name, c)
		}
		for _, b := range []Budget{gdp(t, 5, 1e-4), pureBudget(t, 5)} {
			l := newLedger(t, new(MemoryStore), "people", records(b))
			if _, err := l.Reserve("people", Run{ID: "a", Charge: c}); !errors.Is(err, ErrUnitMismatch) {
				t.Errorf("%s in an account of %s: %v, want ErrUnitMismatch", name, b, err)
			}
		}
		l := newLedger(t, new(MemoryStore), "people", records(zcdp(t, 5, 1e-4)))
		if _, err := l.Reserve("people", Run{ID: "a", Charge: c}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c := add(mu, mu); !(c.MuSq >= 2*mu.MuSq) || !(c.Slack >= 2*mu.Slack) || !(c.Rho >= 2*mu.Rho) ||
		c.Accounting != GDP {
		t.Errorf("twice a Gaussian charge: %+v", c)
	}
	if c := add(mu, approximate); c.MuSq < mu.MuSq || c.Slack < mu.Slack || c.ApproxEps < 0.01 {
		t.Errorf("Gaussian and approximate: %+v", c)
	}
	a, b := Charge{Protection: PerRecord(), MuSq: 1}, Charge{Protection: PerRecord(), PureEps: 1}
	if c, err := a.Add(b); !errors.Is(err, ErrUnitMismatch) {
		t.Errorf("no currency in common: %+v, %v, want ErrUnitMismatch", c, err)
	}
}

func pureBudget(t *testing.T, epsilon float64) Budget {
	t.Helper()
	b, err := PureBudget(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A ledger writes nothing that it cannot read again.
func TestLedgerCanBeReadAgain(t *testing.T) {
	store := new(MemoryStore)
	l, err := OpenLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	zero, err := RhoBudget(1e-6, 0.5) // which states ε = 0
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Open("zero", records(zero)); !errors.Is(err, ErrEpsilon) {
		t.Errorf("a budget of ε = %g: %v, want ErrEpsilon", zero.Epsilon(), err)
	}
	// Both names would be the same one in the document.
	for _, name := range []string{"\xfe", "\xff"} {
		if err := l.Open(name, records(zcdp(t, 1, 1e-5))); err == nil {
			t.Errorf("account %q was opened", name)
		}
	}
	if err := l.Open("people", records(zcdp(t, 1, 1e-5))); err != nil {
		t.Fatal(err)
	}
	charge := newTestStream(t, Tree, 1, 10, 1, zcdp(t, 0.1, 1e-5)).Charge()
	if _, err := l.Reserve("people", Run{ID: "\xff", Charge: charge}); err == nil {
		t.Error("a run whose name is not UTF-8 was reserved")
	}
	if _, err := OpenLedger(store); err != nil {
		t.Fatal(err)
	}
}

// The cost of steps that were made is not given back by leaving a currency out.
func TestCloseEarlyKeepsEveryCurrency(t *testing.T) {
	c := selectorConfig(t, 4, 10)
	c.Budget = pureBudget(t, 1)
	l := newLedger(t, new(MemoryStore), "people", records(c.Budget))
	s, err := NewSelector(c)
	if err != nil {
		t.Fatal(err)
	}
	token, err := l.Reserve("people", Run{ID: "a", Charge: s.Charge()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Choose(make([]int64, 4)); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(token, 1); err != nil {
		t.Fatal(err)
	}
	spent := Charge{Protection: PerRecord(), Rho: s.Spent()}
	if err := l.CloseEarly(token, spent); !errors.Is(err, ErrUnitMismatch) {
		t.Errorf("closed at ε = 0 after a step: %v, want ErrUnitMismatch", err)
	}
	spent.PureEps = 0.1
	if err := l.CloseEarly(token, spent); err != nil {
		t.Error(err)
	}
}
