package regret_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

func TestMinimaxTable(t *testing.T) {
	for _, row := range []struct {
		rounds                   int
		floor, s1, s7, s3, bound float64
	}{
		{4, 1.5, 2.0, 2.1835034191, 2.6737265864, 4},
		{16, 3.1420898438, 4.5, 5.7600243468, 6.6657992240, 8},
		{100, 7.9589237387, 12.0, 15.7375069055, 19.9781597677, 20},
	} {
		set := interval()
		g := must(regret.NewMinimax(set, nil, nil, 1, row.rounds))
		if math.Abs(g.Floor()-row.floor) > 6e-11 {
			t.Errorf("T = %d: floor %v, want %v", row.rounds, g.Floor(), row.floor)
		}
		for _, c := range []struct {
			name string
			rate oco.Rate
			want float64
		}{
			{"fixed horizon", oco.FixedHorizon(2, 1, row.rounds), row.s1},
			{"adaptive", oco.Adaptive(2 * math.Sqrt2 / 2), row.s7},
			{"1/√t", oco.InverseSqrt(2, 1), row.s3},
		} {
			got := play(t, descent(set, c.rate), g, row.rounds)
			near(t, fmt.Sprintf("regret of %s, T = %d", c.name, row.rounds), got.Regret, c.want)
			if !got.Holds() || got.Regret < g.Floor() {
				t.Errorf("%s: regret %v, floor %v, bound %v", c.name, got.Regret, g.Floor(), got.Bound)
			}
			if c.name == "fixed horizon" {
				near(t, "DL√T", 2*math.Sqrt(float64(row.rounds)), row.bound)
			}
		}
	}
}

func TestMinimaxSigns(t *testing.T) {
	for _, rate := range []oco.Rate{oco.FixedHorizon(2, 1, 4), oco.Adaptive(math.Sqrt2)} {
		g := must(regret.NewMinimax(interval(), nil, nil, 1, 4))
		l := descent(interval(), rate)
		var signs string
		for range 4 {
			f := must(g.Next(l.Predict())).(*loss.Linear)
			signs += map[float64]string{1: "+", -1: "-"}[f.C[0]]
			if err := l.Update(f.C); err != nil {
				t.Fatal(err)
			}
		}
		if signs != "+-++" {
			t.Errorf("%v: signs %s, want +-++", rate, signs)
		}
	}
}

func TestMinimaxPlayer(t *testing.T) {
	r := random.New(1, "l4")
	for _, set := range []convex.Set{
		interval(), must(convex.NewBall([]float64{1, 2, 3}, 2)),
		must(convex.NewSimplex(4)),
	} {
		for _, rounds := range []int{1, 2, 7, 50, 301} {
			p := must(regret.NewMinimaxPlayer(set, nil, nil, rounds))
			g := must(regret.NewRademacher(set, nil, nil, 3, r.Uint64()))
			c := play(t, p, g, rounds)
			near(t, fmt.Sprintf("minimax regret on random signs, %v, T = %d", set, rounds), c.Regret, g.Floor(rounds))
			if !c.Holds() {
				t.Errorf("regret %v above the bound %v", c.Regret, c.Bound)
			}
			p = must(regret.NewMinimaxPlayer(set, nil, nil, rounds))
			m := must(regret.NewMinimax(set, nil, nil, 3, rounds))
			near(t, "minimax regret against the adversary", play(t, p, m, rounds).Regret, m.Floor())
			if err := p.Update(make([]float64, p.Dim())); err == nil {
				t.Error("a round after the last was accepted")
			}
		}
	}
}

// TestMinimaxLong: 10^5 rounds, exact to rounding.
func TestMinimaxLong(t *testing.T) {
	const rounds = 100000
	p := must(regret.NewMinimaxPlayer(interval(), nil, nil, rounds))
	m := must(regret.NewMinimax(interval(), nil, nil, 1, rounds))
	c := play(t, p, m, rounds)
	if math.Abs(c.Regret/m.Floor()-1) > 1e-10 {
		t.Errorf("regret %.15g of the minimax player, floor %.15g", c.Regret, m.Floor())
	}
	c = play(t, descent(interval(), oco.Adaptive(math.Sqrt2)), m, rounds)
	if c.Regret < m.Floor() {
		t.Errorf("regret %v of adaptive descent is below the floor %v", c.Regret, m.Floor())
	}
	if _, err := m.Next([]float64{0}); err == nil {
		t.Error("a round after the last was played")
	}
}
