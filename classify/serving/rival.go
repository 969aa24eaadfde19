package serving

import (
	"math"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/confseq"
)

// rival tells whether a model that learns is worse than the model that it began as, on the rows
// whose labels have come. On a row where the two disagree one of them is right. Two bettors bet
// that it is the model of the start: one counts all rows alike, so that it finds a model that calls
// everything positive where positives are few, the other by the inverse share of the row's class in
// training, so that it finds one that calls nothing positive. If the learned model's answers are
// not worse, the wealth of a bettor ever reaches 1/α with probability at most α (see
// [confseq.Betting]). The rows are taken in blocks, which end early when both bettors have lost
// nearly all, so that what the model won long ago does not hide what it loses now; in block k, α is
// rivalLevel/(2k(k+1)) for each bettor, rivalLevel in all.
//
// As one model may be better by its measure with more mistakes of one kind, the measure of the
// learned model over the block must also be less.
type rival struct {
	Block    int64 // from 0
	Disagree []byte
	Learned  measure.Confusion
	Start    measure.Confusion

	bets    [2]confseq.Betting
	weights [2]float64 // of negative and positive rows, at most 1
}

const (
	// blockRows is the number of rows of a block on which the models disagree.
	blockRows = 1000
	// lost is the logarithm of the wealth below which a block ends.
	lost = -2
	// rivalLevel is the probability that a model that is never worse is ever found to be so.
	rivalLevel = 0.01
	// rivalRows is the number of rows on which they disagree for which the bets are the best.
	rivalRows = 100
)

// The bits of a row on which the models disagree.
const (
	isPositive = 1 << iota
	startRight
)

func newRival(m *classify.Model) rival {
	r := rival{weights: [2]float64{1, 1}}
	if l := m.Data.Train.Labels; len(l) == 2 && l[0].Weight > 0 && l[1].Weight > 0 {
		most := max(1/l[0].Weight, 1/l[1].Weight)
		r.weights = [2]float64{1 / l[1].Weight / most, 1 / l[0].Weight / most}
	}
	r.open()
	return r
}

func (r *rival) open() {
	for i := range r.bets {
		r.bets[i] = confseq.Betting{Rows: rivalRows}
	}
}

// restore returns the rival with the bets of a saved state.
func (r rival) restore(saved rival) rival {
	r.Block, r.Disagree, r.Learned, r.Start = saved.Block, saved.Disagree, saved.Learned, saved.Start
	r.open()
	for _, row := range r.Disagree {
		r.bet(row)
	}
	return r
}

// bet places the bets of a row on which the models disagree.
func (r *rival) bet(row byte) {
	x := -1.0
	if row&startRight != 0 {
		x = 1
	}
	r.bets[0].Add(x, 1)
	r.bets[1].Add(x*r.weights[row&isPositive], 1)
}

// wealth is the logarithm of the wealth of the richer bettor.
func (r *rival) wealth() float64 { return max(r.bets[0].LogWealth(0), r.bets[1].LogWealth(0)) }

// add adds a row with its label and the two answers. An error says that the learned model is worse.
func (r *rival) add(m measure.Objective, positive, learned, start bool) error {
	if len(r.Disagree) == blockRows || r.wealth() < lost {
		r.Block++
		r.Disagree, r.Learned, r.Start = nil, measure.Confusion{}, measure.Confusion{}
		r.open()
	}
	r.Learned.Add(positive, learned, 1)
	r.Start.Add(positive, start, 1)
	if learned == start {
		return nil
	}
	row := byte(0)
	if positive {
		row |= isPositive
	}
	if start == positive {
		row |= startRight
	}
	r.Disagree = append(r.Disagree, row)
	r.bet(row)
	k := float64(r.Block + 1)
	if r.wealth() < math.Log(2*k*(k+1)/rivalLevel) {
		return nil
	}
	value := func(c measure.Confusion) float64 { return (&classify.Confusion{Two: c}).Value(m) }
	now, before := value(r.Learned), value(r.Start)
	if now >= before || math.IsNaN(before) {
		return nil
	}
	rows := r.Learned.Positives() + r.Learned.Negatives()
	worse, better := apart(now, before)
	return noregret.Errorf(noregret.Diverged, "", "what was learned is worse than the model of the start by more "+
		"than chance: on the latest %v labelled rows its measure is %s, that of the start %s", rows, worse, better)
}

// apart formats two different numbers with 4 digits, or as many as tell them apart.
func apart(a, b float64) (string, string) {
	for digits := 4; ; digits++ {
		s, t := strconv.FormatFloat(a, 'g', digits, 64), strconv.FormatFloat(b, 'g', digits, 64)
		if s != t || digits == 17 {
			return s, t
		}
	}
}
