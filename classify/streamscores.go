package classify

import (
	"math"

	"github.com/noregret/noregret/classify/measure"
)

// scoreWindow counts the scores that a learner gives to the rows of a stream before it learns from
// them: those of the latter half at least, in two megabytes whatever their number.
type scoreWindow struct {
	seen int64 // rows that were predicted
	// recent counts the scores since seen was last a power of two, and older those from the power
	// before it on: together they are of at least the latter half of the rows.
	recent, older *scoreCounts
}

// leastRecent is the number of rows from which on the early ones are forgotten.
const leastRecent = 1024

func newScoreWindow() *scoreWindow {
	return &scoreWindow{recent: newScoreCounts(), older: newScoreCounts()}
}

// predict counts the score of a row from which l is to learn, once l has its scales and unless the
// score is NaN: the next step then fails. It returns the score and whether it was counted.
func (s *scoreWindow) predict(l Learner, x Example) (score float64, ok bool) {
	if x.Weight == 0 || !onlineOf(l).ready {
		return 0, false
	}
	if n := s.seen; n >= leastRecent && n&(n-1) == 0 {
		s.recent, s.older = s.older, s.recent
		s.recent.clear()
	}
	s.seen++
	z := l.Score(x.Index, x.Value)
	if z != z {
		return 0, false
	}
	s.recent.add(z, x.Positive, x.Weight)
	return z, true
}

// figures are those of the decisions at the threshold 0.
func (s *scoreWindow) figures(m measure.Measure) *ModelFigures {
	zero, _, _ := s.window()
	negatives, positives := s.rows()
	o := Outcomes{
		Rows: negatives + positives, Counts: zero, Positives: s.recent.square[1] + s.older.square[1],
		Negatives: s.recent.square[0] + s.older.square[0],
	}
	return o.figures(m, sourceProgressive, 1)
}

// window returns the confusion with the threshold 0 in the window, its scores in descending order,
// and the number of its rows of the rarer label. Rows of one bin and label are one example, with as
// many copies as they count for: Kish's effective number of all rows of the label is divided by
// weight.
func (s *scoreWindow) window() (zero measure.Confusion, examples []Scored, rarer int64) {
	var each [2]float64 // copies for a weight of one, by label
	for label := range each {
		weight := s.recent.weight[label] + s.older.weight[label]
		each[label] = weight / (s.recent.square[label] + s.older.square[label])
	}
	for k := len(s.recent.weights) - 1; k >= 0; k-- {
		for label := range 2 {
			w := s.recent.weights[k][label] + s.older.weights[k][label]
			if w > 0 {
				score := binScore(k)
				zero.Add(label == 1, score > 0, w)
				examples = append(examples, Scored{
					Score: score, Positive: label == 1, Weight: w,
					Copies: float32(w * each[label]),
				})
			}
		}
	}
	negatives, positives := s.rows()
	return zero, examples, min(negatives, positives)
}

// rows is the number of rows in the window, by label.
func (s *scoreWindow) rows() (negatives, positives int64) {
	return s.recent.rows[0] + s.older.rows[0], s.recent.rows[1] + s.older.rows[1]
}

// calibration is that of the scores in the window, nil if it cannot be had.
func (s *scoreWindow) calibration(rule CalibrationRule) []Calibration {
	_, examples, rarer := s.window()
	if rule == CalibrationNone || rarer == 0 {
		return nil
	}
	c := calibrationOf(examples, rule, sourceProgressive)
	if c == nil {
		return nil
	}
	negatives, positives := s.rows()
	c[0].Rows, c[0].Positives = negatives+positives, positives
	// A threshold inside a bin would count the rows above it in the bin as below.
	for i, z := range c[0].Curve.Score {
		_, c[0].Curve.Score[i] = binRange(z)
	}
	last := len(c[0].Curve.Score) - 1
	lowest, _ := binRange(examples[len(examples)-1].Score)
	c[0].Curve.Score[last] = lowest - max(1, float64(math.Abs(lowest)*1e-9))
	return c
}

// scoreCounts are weights of examples by their score and label, 1 for the positive one.
type scoreCounts struct {
	weights [][2]float64 // by bin
	rows    [2]int64
	// Sums of the weights and of their squares.
	weight, square [2]float64
}

// scoreBits is the number of bits of a bin: the sign, the exponent and seven bits of the fraction
// of a score as float32, in the order of the scores.
const scoreBits = 16

func newScoreCounts() *scoreCounts { return &scoreCounts{weights: make([][2]float64, 1<<scoreBits)} }

func (s *scoreCounts) clear() {
	clear(s.weights)
	*s = scoreCounts{weights: s.weights}
}

func (s *scoreCounts) add(score float64, positive bool, weight float64) {
	label := 0
	if positive {
		label = 1
	}
	s.weights[scoreBin(score)][label] += weight
	s.rows[label]++
	s.weight[label] += weight
	s.square[label] += float64(weight * weight)
}

// scoreBin returns the bin of a score. A score of 0 is in that of the negative ones next to it.
func scoreBin(score float64) int {
	bits := math.Float32bits(float32(min(max(score, -math.MaxFloat32), math.MaxFloat32)))
	if bits == 0 {
		bits = 1 << 31
	}
	if bits>>31 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return int(bits >> (32 - scoreBits))
}

// binRange returns the least and the greatest score as float32 of the bin of a score.
func binRange(score float64) (low, high float64) {
	const fraction = 1<<(32-scoreBits) - 1
	bits := math.Float32bits(float32(score))
	near, far := float64(math.Float32frombits(bits&^fraction)), float64(math.Float32frombits(bits|fraction))
	return min(near, far), max(near, far)
}

// binScore returns a score inside a bin.
func binScore(bin int) float64 {
	bits := uint32(bin)<<(32-scoreBits) | 1<<(31-scoreBits)
	if bits>>31 == 1 {
		bits &^= 1 << 31
	} else {
		bits = ^bits
	}
	return float64(math.Float32frombits(bits))
}
