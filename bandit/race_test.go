package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// With many arms the arm drawn is the first of the lowest index, as a scan of all finds it.
func TestRace(t *testing.T) {
	for seed := range uint64(6) {
		for _, p := range []interface {
			Player
			Index(k int) float64
		}{
			made(NewAlphaUCB(100, 3, .5)).(*AlphaUCB), made(NewKLUCB(100, 3, 1)).(*KLUCB),
		} {
			r := random.New(seed, "race")
			for round := range 3000 {
				arm, least := 0, math.Inf(1)
				for k := range 100 {
					if v := p.Index(k); v < least {
						arm, least = k, v
					}
				}
				if got := p.Draw(nil); got != arm {
					t.Fatalf("%v: arm %d in round %d, want %d", p, got, round, arm)
				}
				loss := float64(r.IntN(2)) // with many ties
				if seed%2 == 0 {
					loss = r.Float64() * (.5 + .5*float64(arm%10)/10)
				}
				if err := p.Update(arm, loss); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
