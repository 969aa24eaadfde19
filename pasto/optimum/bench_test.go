package optimum

import (
	"fmt"
	"testing"

	"github.com/noregret/noregret/pasto/internal/instance"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// BenchmarkMaximize times the certified optimum of random instances.
func BenchmarkMaximize(b *testing.B) {
	for _, k := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("K=%d", k), func(b *testing.B) {
			mu, _ := instance.Uniform(k, 3, 7)
			f := pastotest.Goals(b, 5, false, .5, .5)
			for b.Loop() {
				o, err := Maximize(f, mu, DefaultOptions())
				if err != nil || o.Gap > 1e-8 {
					b.Fatal(err, o.Gap)
				}
			}
		})
	}
}
