package regret

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// positive refuses numbers that are not finite and above 0.
func positive(place string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return noregret.BadInputf(place, "%v: want a finite number above 0", v)
	}
	return nil
}

// within refuses numbers outside [low, high].
func within(place string, v, low, high float64) error {
	if !(v >= low && v <= high) {
		return noregret.BadInputf(place, "%v: want a number from %v to %v", v, low, high)
	}
	return nil
}

// maxDim is the largest dimension of a game.
const maxDim = 1 << 24

func checkDim(d, least int) error {
	if d < least || d > maxDim {
		return noregret.BadInputf("dimension", "%d: want at least %d and at most %d", d, least, maxDim)
	}
	return nil
}

// checkPoint refuses points of another dimension or not finite.
func checkPoint(x []float64, d int) error {
	if len(x) != d {
		return noregret.BadInputf("point", "%d values, the game's dimension is %d", len(x), d)
	}
	for i, v := range x {
		if v-v != 0 {
			return noregret.BadInputf(fmt.Sprintf("point[%d]", i), "%v: want a finite number", v)
		}
	}
	return nil
}

// linear is what games of linear losses share.
type linear struct {
	set convex.Set
	f   loss.Linear
	sum *LinearSummary
}

func newLinear(set convex.Set) linear {
	d := set.Dim()
	return linear{set: set, f: loss.Linear{C: make([]float64, d)}, sum: NewLinearSummary(d)}
}

// Set implements [Game].
func (g *linear) Set() convex.Set { return g.set }

// Features implements [Game]: none are shown.
func (g *linear) Features() []float64 { return nil }

// Summary implements [Game], with a [LinearSummary].
func (g *linear) Summary() Summary { return g.sum }

func (g *linear) restart() {
	clear(g.f.C)
	g.sum.Reset()
}
