package drifting

import (
	"math"

	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
)

// variation estimates by how much the arms' rewards have varied: the sum over batches of 16 rounds
// of the mean absolute difference of an arm's mean reward from that of the batch before, weighted
// by units, less what noise adds to it. It sees what was served only, and what all arms have in
// common counts.
type variation struct {
	Rounds  int       // of the running batch
	Sum     float64   // of all batches, which noise may leave below 0
	Size    []float64 // K: of the running batch
	Mean    []float64
	Squares []float64
	Count   []float64
	Before  []float64 // K: the mean in the batch before
	Noise   []float64 // its squared standard error, −1 where there is none
}

// largestReward bounds the rewards that count.
const largestReward = 1e100

// batch is the number of rounds of a batch.
const batch = 16

// foldedNormal is the mean of |z| for a standard normal z, √(2/π).
const foldedNormal = 0.7978845608028654

// tables lists the tables by arm.
func (v *variation) tables() []*[]float64 {
	return []*[]float64{&v.Size, &v.Mean, &v.Squares, &v.Count, &v.Before, &v.Noise}
}

func (v *variation) grow(arms int) {
	for i, t := range v.tables() {
		for len(*t) < arms {
			if i == 5 {
				*t = append(*t, -1)
			} else {
				*t = append(*t, 0)
			}
		}
	}
}

func (v *variation) fits(arms int) bool {
	ok := v.Rounds >= 0 && v.Rounds < batch && vec.IsFinite(v.Sum)
	for _, t := range v.tables() {
		ok = ok && len(*t) == arms && vec.Finite(*t)
	}
	return ok
}

// add adds a round.
func (v *variation) add(in confident.Inside, obs []pasto.Observation) {
	for i := range obs {
		o := &obs[i]
		value, size := in.Reward(o.Metrics), o.Size
		if size == 0 {
			size = 1
		}
		if !(math.Abs(value) <= largestReward) { // its square would not be finite
			continue
		}
		k := o.Arm
		d := value - v.Mean[k]
		v.Size[k] += size
		v.Mean[k] += float64(size / v.Size[k] * d)
		v.Squares[k] += float64(size * float64(d*(value-v.Mean[k])))
		v.Count[k]++
	}
	if v.Rounds++; v.Rounds == batch {
		v.end()
	}
}

// end ends a batch.
func (v *variation) end() {
	sum, size := 0.0, 0.0
	for k, n := range v.Size {
		noise := -1.0
		if v.Count[k] > 2 {
			noise = max(v.Squares[k], 0) / float64((v.Count[k]-1)*n)
		}
		if noise >= 0 && v.Noise[k] >= 0 {
			off := math.Abs(v.Mean[k]-v.Before[k]) - float64(foldedNormal*math.Sqrt(noise+v.Noise[k]))
			sum += float64(n * off)
			size += n
		}
		if v.Count[k] > 0 {
			v.Before[k], v.Noise[k] = v.Mean[k], noise
		}
	}
	if size > 0 {
		if next := v.Sum + sum/size; vec.IsFinite(next) {
			v.Sum = next
		}
	}
	v.Rounds = 0
	clear(v.Size)
	clear(v.Mean)
	clear(v.Squares)
	clear(v.Count)
}

// Variation estimates by how much the rewards of arms have varied since the start, in units of the
// objective: a diagnosis, not a bound, as it sees only what was served. It is the sum over batches
// of 16 rounds of what the mean reward of an arm differs by from the batch before, less what noise
// adds on average.
func (l *Learner) Variation() float64 { return max(l.d.Variation.Sum, 0) }
