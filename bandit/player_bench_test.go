package bandit

import (
	"fmt"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// BenchmarkPlayers is the time of a round, Draw and Update, after some rounds of warming up.
func BenchmarkPlayers(b *testing.B) {
	for _, d := range []int{10, 1000} {
		for _, p := range players(d) {
			b.Run(fmt.Sprint(p), func(b *testing.B) {
				r := random.New(1, "bench")
				for range b.N {
					k := p.Draw(r)
					loss := 0.0
					if k != 3 && r.Float64() < .5 {
						loss = 1
					}
					if err := p.Update(k, loss); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
