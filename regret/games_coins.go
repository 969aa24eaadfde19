package regret

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// coins draws one of two losses by a fair coin for each batch of rounds.
type coins struct {
	slope, offset [2]float64
	batch         int
	seed          uint64
	r             *random.Source
	side          int
}

func (p *coins) next(t int) (slope, offset float64) {
	if (t-1)%p.batch == 0 {
		p.side = int(p.r.Uint64() >> 63)
	}
	return p.slope[p.side], p.offset[p.side]
}

func (p *coins) restart() { p.r = random.New(p.seed, "regret/coins") }

// Trap describes an instance of a lower bound for dynamic regret: in each batch of rounds nature
// plays one of two losses, drawn by a fair coin, that players can hardly tell apart within the
// batch.
type Trap struct {
	// Batch is the length Δ of a batch and Delta the size δ of the difference between the losses.
	Batch int
	Delta float64
	// Divergence bounds the Kullback–Leibler divergence between the players' observations in a
	// batch of one loss and of the other. It is NaN where the bound depends on the player.
	Divergence float64
	// Floor is a dynamic regret that the expectation of no player is below.
	Floor float64
}

// trapInput checks what all traps take, and returns C̃ = 1/(2·noise²).
func trapInput(rounds int, variation, noise float64) (float64, error) {
	if rounds < 1 {
		return 0, noregret.BadInputf("rounds", "%d: want at least 1", rounds)
	}
	if !(variation > 0 && variation <= float64(rounds)) {
		return 0, noregret.BadInputf("variation", "%v: want a number above 0 and at most the %d rounds", variation,
			rounds)
	}
	if !(noise > 0 && noise <= maxNoise) {
		return 0, noregret.BadInputf("noise", "%v: want a standard deviation above 0 and at most %v", noise,
			float64(maxNoise))
	}
	return 1 / float64(2*float64(noise*noise)), nil
}

// GradientTrap is the instance of Theorem 2 of Besbes, Gur and Zeevi (2015) for convex losses and
// gradients with normal noise of the standard deviation noise: with C̃ = 1/(2·noise²),
//
//	Δ = max{⌊(4C̃)^(−1/3)·(T/V)^(2/3)⌋, 1},   δ = VΔ/(2T),   regret ≥ T(δ/2 + δ²)/(8e),
//
// of order V^(1/3)·T^(2/3). δ is at most 1/5, so that the minimizers are in the interior; the
// losses then use less than the budget V.
func GradientTrap(rounds int, variation, noise float64) (Trap, error) {
	c, err := trapInput(rounds, variation, noise)
	if err != nil {
		return Trap{}, err
	}
	n := float64(rounds)
	batch := trapBatch(portable.Pow(n/variation, 2.0/3)/portable.Pow(4*c, 1.0/3), rounds)
	delta := min(variation*float64(batch)/(2*n), 0.2)
	square := float64(delta * delta)
	divergence := float64(16 * c * float64(batch) * square)
	return Trap{
		Batch: batch, Delta: delta, Divergence: divergence,
		Floor: float64(n / 8 * portable.Exp(-max(divergence, 1)) * (float64(delta/2) + square)),
	}, nil
}

// CurvedTrap is the instance of Theorem 4 of Besbes, Gur and Zeevi (2015) for strongly convex
// losses and gradients with normal noise: with C̃ = 1/(2·noise²),
//
//	Δ = max{⌊√(T/(2C̃V))⌋, 1},   δ = √(2VΔ/T),   regret ≥ T·δ²/(128e),
//
// of order √(VT). δ is at most 1; the losses then use less than the budget V.
func CurvedTrap(rounds int, variation, noise float64) (Trap, error) {
	c, err := trapInput(rounds, variation, noise)
	if err != nil {
		return Trap{}, err
	}
	n := float64(rounds)
	trap := curved(trapBatch(math.Sqrt(n/float64(2*c*variation)), rounds), rounds, variation)
	square := float64(trap.Delta * trap.Delta)
	trap.Divergence = float64(c * float64(trap.Batch) * square)
	trap.Floor = float64(n * square / 128 * portable.Exp(-max(trap.Divergence, 1)))
	return trap, nil
}

// CostTrap is the instance of Theorem 5 of Besbes, Gur and Zeevi (2015) for strongly convex losses
// of which players see values with normal noise: the losses of [CurvedTrap] in batches of Δ =
// ⌈(T/V)^(2/3)⌉. A player's expected regret r in a batch bounds what it can have learned there, the
// divergence being at most 2C̃δ²·r, so that r ≥ Δδ²/128·exp(−2C̃δ²·r). The floor is the solution r
// of this equation times the number of whole batches, of order V^(1/3)·T^(2/3).
func CostTrap(rounds int, variation, noise float64) (Trap, error) {
	c, err := trapInput(rounds, variation, noise)
	if err != nil {
		return Trap{}, err
	}
	n := float64(rounds)
	batch := trapBatch(math.Ceil(float64(portable.Pow(n/variation, 2.0/3)*(1-1e-12))), rounds)
	trap := curved(batch, rounds, variation)
	square := float64(trap.Delta * trap.Delta)
	low, high := 0.0, float64(float64(batch)*square)/128
	most, rate := high, float64(2*c*square)
	for range 100 { // the right-hand side falls in r
		if r := (low + high) / 2; r < float64(most*portable.Exp(-float64(rate*r))) {
			low = r
		} else {
			high = r
		}
	}
	trap.Divergence = math.NaN()
	trap.Floor = float64(low * float64(rounds/batch))
	return trap, nil
}

// trapBatch rounds a length down to a whole number of rounds, at least 1 and at most all. A number
// that only rounding keeps below an integer counts as that integer.
func trapBatch(v float64, rounds int) int {
	return int(min(max(math.Floor(float64(v*(1+1e-12))), 1), float64(rounds)))
}

// curved returns the trap of strongly convex losses with the given batch.
func curved(batch, rounds int, variation float64) Trap {
	delta := math.Sqrt(float64(2 * variation * float64(batch) / float64(rounds)))
	return Trap{Batch: batch, Delta: min(delta, 1)}
}

// NewGradientTrap plays on [0, 1] for the losses of a [GradientTrap] (Besbes, Gur and Zeevi 2015,
// equation A-7): with walls w(x) = min(x − ¼, 0)² + max(x − ¾, 0)²,
//
//	f¹(x) = ½ + δ − 2δx + w(x),   f²(x) = ½ − δ + 2δx + w(x),
//
// whose minimizers are ¾ + δ and ¼ − δ. The noise has the given standard deviation, which may
// differ from the one that the trap was made for; the floor then does not hold.
func NewGradientTrap(trap Trap, noise float64, seed uint64) (*Varying, error) {
	d := trap.Delta
	if trap.Batch < 1 || !(d > 0 && d < 0.25) {
		return nil, noregret.BadInputf("trap", "batch %d, difference %v: want a batch of at least 1 round and a "+
			"difference above 0 and below 1/4", trap.Batch, d)
	}
	return newVarying(0, 1, Shape{Wall: 1, Low: 0.25, High: 0.75}, &coins{
		slope: [2]float64{-2 * d, 2 * d}, offset: [2]float64{0.5 + d, 0.5 - d}, batch: trap.Batch, seed: seed,
	}, noise, seed)
}

// NewCurvedTrap plays on [0, 1] for the losses of a [CurvedTrap] (Besbes, Gur and Zeevi 2015,
// equation A-12):
//
//	f¹(x) = x² − x + ¾,   f²(x) = x² − (1 + δ)x + ¾ + δ/2,
//
// whose minimizers are ½ and (1 + δ)/2. The noise is as in [NewGradientTrap].
func NewCurvedTrap(trap Trap, noise float64, seed uint64) (*Varying, error) {
	return newCurvedTrap(0, 1, trap, noise, seed)
}

// NewCostTrap plays for the losses of [NewCurvedTrap] on [−1, 2], for a [CostTrap]. The lower bound
// depends on the losses' values alone and holds on every set that contains [0, 1]. This one leaves
// room for players that try points at a distance from their own.
func NewCostTrap(trap Trap, noise float64, seed uint64) (*Varying, error) {
	return newCurvedTrap(-1, 2, trap, noise, seed)
}

func newCurvedTrap(low, high float64, trap Trap, noise float64, seed uint64) (*Varying, error) {
	d := trap.Delta
	if trap.Batch < 1 || !(d > 0 && d <= 1) {
		return nil, noregret.BadInputf("trap", "batch %d, difference %v: want a batch of at least 1 round and a "+
			"difference above 0 and at most 1", trap.Batch, d)
	}
	return newVarying(low, high, Shape{Curvature: 2}, &coins{
		slope: [2]float64{-1, -1 - d}, offset: [2]float64{0.75, 0.75 + float64(d/2)}, batch: trap.Batch, seed: seed,
	}, noise, seed)
}

// NewRestless plays the losses of [NewCurvedTrap] with a difference delta in (0, 1] and a coin in
// every round: the variation grows linearly, and so does the regret of every player. A round's
// expected regret is at least delta²/16 (Besbes, Gur and Zeevi 2015, Proposition 1).
func NewRestless(delta, noise float64, seed uint64) (*Varying, error) {
	return NewCurvedTrap(Trap{Batch: 1, Delta: delta}, noise, seed)
}
