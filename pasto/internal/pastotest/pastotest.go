// Package pastotest holds what the tests of several packages of pasto share.
package pastotest

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Play runs rounds of the learner on means mu.
func Play(t testing.TB, l pasto.Learner, mu *pasto.Table, groups, rounds int, sigma float64, r *random.Source) {
	t.Helper()
	arms, obs := make([]int, groups), make([]pasto.Observation, groups)
	values := make([]float64, groups*mu.Metrics())
	for range rounds {
		l.Draw(r, arms)
		for q, k := range arms {
			row := values[q*mu.Metrics() : (q+1)*mu.Metrics()]
			for m, v := range mu.Arm(k) {
				row[m] = v + float64(sigma*r.NormFloat64())
			}
			obs[q] = pasto.Observation{Arm: k, Metrics: row}
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
}

// One makes goals of metrics with a weighted sum.
func One(t testing.TB, m ...pasto.Metric) *pasto.Goals {
	t.Helper()
	g, err := pasto.NewGoals(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Served returns an arm of positive propensity.
func Served(l pasto.Learner) int {
	return slices.IndexFunc(l.Serving(), func(v float64) bool { return v > 0 })
}

// Near reports an error unless got is within tol of want.
func Near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s is %.12g, want %.12g within %g", what, got, want, tol)
	}
}

// Goals are one primary metric and a guardrail for each limit.
func Goals(t testing.TB, lambda float64, hard bool, limits ...float64) *pasto.Goals {
	t.Helper()
	metrics := []pasto.Metric{{Name: "x"}}
	for i, c := range limits {
		metrics = append(metrics, pasto.Metric{
			Name: string(rune('a' + i)), Role: pasto.Guardrail, Threshold: c, Lambda: lambda,
			Hard: hard,
		})
	}
	g, err := pasto.NewGoals(metrics, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Table is a table of rows, one for each metric.
func Table(t testing.TB, rows ...[]float64) *pasto.Table {
	t.Helper()
	m, err := pasto.TableOf(rows...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Toy is the paper's example of two arms: gains 2 and 0, guardrails −2 and 2.
func Toy(t testing.TB) *pasto.Table { return Table(t, []float64{2, 0}, []float64{-2, 2}) }

// Same reports an error unless err has the code bad_input and exactly this text.
func Same(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want || noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Cliff is ln(x + 1): its gradient is not finite from −1 down.
func Cliff() *pasto.Utility {
	return &pasto.Utility{
		Name: "log", Metrics: 1, Smooth: 1,
		U: func(x []float64) float64 { return math.Log(x[0] + 1) },
		DU: func(d, x []float64) {
			if d[0] = 1 / (x[0] + 1); x[0] < -1 {
				d[0] = math.NaN()
			}
		},
	}
}
