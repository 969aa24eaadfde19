package classify

import (
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/forget"
)

// covering is the learner of [forget.Adaptive]. With blocks of Rounds examples, numbered from 0, it
// runs a learner for each interval of the geometric covering of the blocks from 1 on
// ([experts.Covering]), and one that is never restarted. Of n blocks at most log₂(n) + 2 intervals
// are running. The score is the mean of the running learners' scores with the weights of sleeping
// experts: each learner has a coin ([experts.Coin]) that bets on the difference of the mixture's
// loss and the learner's, with equal priors. An interval of n examples whose learner does better
// than the mixture is followed after a regret of order √(n·ln T).
//
// The loss of a score z is the hinge max(0, min(2, 1 − y·z))/2 times the weight of the class in the
// measure: for pseudo-linear measures positives and negatives weigh as at the level that the
// mixture has reached lately, for others both classes weigh the same. The bound on the regret is
// for mixtures of convex losses. The cut at 2 makes the hinge bounded and not convex, so here it is
// a heuristic.
//
// New learners take the standardisation and the class share from the one that is never restarted,
// and so have no burn-in. An example costs a step and a prediction of each running learner. It
// allocates nothing except for new learners.
type covering struct {
	drift   forget.Rule
	measure measure.Measure
	cfg     Config
	build   func(cfg Config) (Learner, error)
	members []member // the first is never restarted
	s       coveringState
	failed  error
}

// coveringState is the part of the state beside the learners.
type coveringState struct {
	Rows                 int64 // since the first learner is ready
	Positives, Negatives float64
	Progressive          measure.Confusion
	// Lately discounts the past of Progressive by 1 − 1/(latelyBlocks·Rounds) an example.
	Lately measure.Confusion
}

// latelyBlocks is the number of blocks that [coveringState.Lately] remembers.
const latelyBlocks = 4

// member is a running learner with its coin.
type member struct {
	learner Learner
	coin    experts.Coin
	scales  *memberScales // nil for the first member
	weight  float64       // of the mixture, scratch
	score   float64       // scratch
}

// memberScales are the options that a new learner gets from the first one.
type memberScales struct {
	Center, Inverse       []float64
	MeanSquare, PriorRate float64
}

// The wealth of a coin stays in this range.
const leastWealth, mostWealth = 1e-100, 1e100

func newCovering(d forget.Rule, m measure.Measure, cfg Config,
	build func(cfg Config) (Learner, error),
) (*covering, error) {
	a := &covering{drift: d, measure: m, cfg: cfg, build: build}
	l, err := build(cfg)
	if err != nil {
		return nil, err
	}
	a.members = append(a.members, member{learner: l, coin: experts.NewCoin()})
	return a, nil
}

func (a *covering) common() *online { return onlineOf(a.first()) }

// first is the learner that is never restarted.
func (a *covering) first() Learner { return a.members[0].learner }

// Observe implements [Learner].
func (a *covering) Observe(x Example) error {
	if a.failed != nil {
		return a.failed
	}
	x, err := onlineOf(a.first()).check(x)
	if err != nil || x.Weight == 0 {
		if err == nil {
			err = a.first().Observe(x)
		}
		return err
	}
	ready := onlineOf(a.first()).ready
	z := a.Score(x.Index, x.Value)
	for i := range a.members {
		if err := a.members[i].learner.Observe(x); err != nil {
			a.failed = err
			return err
		}
	}
	a.count(x, z > 0)
	if !ready {
		return nil
	}
	a.settle(z, x.Positive)
	a.s.Rows++
	if a.s.Rows%int64(a.drift.Rounds) == 0 {
		return a.cover(int(a.s.Rows / int64(a.drift.Rounds)))
	}
	return nil
}

// count counts an example and its prediction.
func (a *covering) count(x Example, predicted bool) {
	s := &a.s
	s.Progressive.Add(x.Positive, predicted, x.Weight)
	if x.Positive {
		s.Positives += x.Weight
	} else {
		s.Negatives += x.Weight
	}
	keep := 1 - 1/float64(latelyBlocks*a.drift.Rounds)
	s.Lately.TP = float64(s.Lately.TP * keep)
	s.Lately.FN = float64(s.Lately.FN * keep)
	s.Lately.TN = float64(s.Lately.TN * keep)
	s.Lately.FP = float64(s.Lately.FP * keep)
	s.Lately.Add(x.Positive, predicted, x.Weight)
}

// classWeights are the weights of the classes in the losses, the larger one 1.
func (a *covering) classWeights() (positive, negative float64) {
	c := a.s.Lately
	pos, neg := c.Positives(), c.Negatives()
	if pos <= 0 || neg <= 0 {
		return 1, 1
	}
	positive, negative = neg, pos
	if m, ok := a.measure.(measure.Ratio); ok {
		k := m.Coefficients(neg / pos)
		level := k.Of(c.Rates())
		if level-level != 0 {
			level = 0
		}
		positive, negative = k.StreamWeights(k.Clamp(level), neg/pos)
	}
	top := max(positive, negative)
	if !(top > 0) || top-top != 0 {
		return 1, 1
	}
	return max(positive, 0) / top, max(negative, 0) / top
}

// settle ends a round for the coins: z is the score of the mixture; the members hold theirs.
func (a *covering) settle(z float64, positive bool) {
	w, other := a.classWeights()
	if !positive {
		w = other
	}
	loss := boundedHinge(z, positive)
	for i := range a.members {
		s := &a.members[i]
		s.coin.Toss(float64(w * (loss - boundedHinge(s.score, positive))))
		s.coin.Wealth = min(max(s.coin.Wealth, leastWealth), mostWealth)
	}
}

// boundedHinge is max(0, min(2, 1 − y·z))/2.
func boundedHinge(z float64, positive bool) float64 {
	if !positive {
		z = -z
	}
	return float64(max(0, min(2, 1-z)) / 2)
}

// cover starts the intervals that begin with a block, in place of those that end before it.
func (a *covering) cover(block int) error {
	scales := a.scales()
	running := experts.Covering[member](a.members[1:])
	a.failed = running.Begin(block, func(int, *member) (member, error) { return a.begin(scales) })
	a.members = append(a.members[:1], running...)
	return a.failed
}

// scales are the present scales of the first learner.
func (a *covering) scales() *memberScales {
	o := onlineOf(a.first())
	d := o.lin.Dim()
	s := &memberScales{
		Center: make([]float64, d), Inverse: make([]float64, d), MeanSquare: o.meanSquare,
		PriorRate: o.pos / (o.pos + o.neg),
	}
	for i := range d {
		inverse, mean := o.lin.Standard(i)
		s.Inverse[i] = inverse
		if inverse != 0 {
			s.Center[i] = mean / inverse
		}
	}
	return s
}

// priorRows is the weight, in examples, of the class share that a new learner starts with.
const priorRows = 10

// begin makes a learner with the given scales.
func (a *covering) begin(scales *memberScales) (member, error) {
	cfg := a.cfg
	cfg.Scaling = &Scaling{Center: scales.Center, Inverse: scales.Inverse}
	cfg.MeanSquare = scales.MeanSquare
	if cfg.PriorWeight == 0 && cfg.Positives == 0 {
		cfg.PriorWeight, cfg.PriorShare = priorRows, scales.PriorRate
	}
	l, err := a.build(cfg)
	if err != nil {
		return member{}, err
	}
	return member{learner: l, coin: experts.NewCoin(), scales: scales}, nil
}

// weigh sets the weights of the mixture, which sum to 1.
func (a *covering) weigh() {
	total := 0.0
	for i := range a.members {
		s := &a.members[i]
		s.weight = s.coin.Bet()
		total += s.weight
	}
	if !(total > 0) { // nobody bets: the learner that is never restarted decides
		a.members[0].weight, total = 1, 1
	}
	for i := range a.members {
		a.members[i].weight /= total
	}
}

// Score implements [Learner].
func (a *covering) Score(index []uint32, value []float32) float64 {
	a.weigh()
	z := 0.0
	for i := range a.members {
		s := &a.members[i]
		s.score = s.learner.Score(index, value)
		z += float64(s.weight * s.score)
	}
	return z
}

// Model implements [Learner]: the mixture of the models.
func (a *covering) Model() Linear {
	a.weigh()
	var out Linear
	for i := range a.members {
		s := &a.members[i]
		if s.weight == 0 {
			continue
		}
		m := s.learner.Model()
		for len(out.Weights) < len(m.Weights) {
			out.Weights = append(out.Weights, 0)
		}
		for j, w := range m.Weights {
			out.Weights[j] += float64(s.weight * w)
		}
		out.Intercept += float64(s.weight * m.Intercept)
	}
	return out
}

// ResetAverage implements [Learner].
func (a *covering) ResetAverage() {
	for i := range a.members {
		a.members[i].learner.ResetAverage()
	}
}

// NextPass implements [Learner].
func (a *covering) NextPass() {
	for i := range a.members {
		a.members[i].learner.NextPass()
	}
	a.s.Progressive = measure.Confusion{}
}

// Finish implements [Learner].
func (a *covering) Finish() error {
	if a.failed != nil {
		return a.failed
	}
	return a.first().Finish()
}

// Progressive implements [Learner].
func (a *covering) Progressive() measure.Confusion { return a.s.Progressive }

// Seen implements [Learner].
func (a *covering) Seen() (positives, negatives float64) { return a.s.Positives, a.s.Negatives }

// savedCovering is what a snapshot holds.
type savedCovering struct {
	State   coveringState
	Members []savedMember
}

type savedMember struct {
	Learner []byte
	Coin    experts.Coin
	Scales  *memberScales
}

func (a *covering) kind() string { return "drift " + driftText(a.drift) + " for " + a.measure.Name() }

// MarshalBinary implements [encoding.BinaryMarshaler].
func (a *covering) MarshalBinary() ([]byte, error) {
	if a.failed != nil {
		return nil, a.failed
	}
	out := savedCovering{State: a.s}
	for i := range a.members {
		s := &a.members[i]
		b, err := s.learner.MarshalBinary()
		if err != nil {
			return nil, err
		}
		out.Members = append(out.Members, savedMember{b, s.coin, s.scales})
	}
	return seal(a.kind(), &out)
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler].
func (a *covering) UnmarshalBinary(data []byte) error {
	var in savedCovering
	if err := unseal(data, a.kind(), &in); err != nil {
		return err
	}
	wanted := 1 + experts.Running(int(max(in.State.Rows, 0)/int64(a.drift.Rounds)))
	if in.State.Rows < 0 || len(in.Members) != wanted {
		return badSnapshot("damaged: %d learners after %d rows", len(in.Members), in.State.Rows)
	}
	fresh, err := newCovering(a.drift, a.measure, a.cfg, a.build)
	if err != nil {
		return err
	}
	for i := range in.Members {
		if err := fresh.restoreMember(i, &in.Members[i]); err != nil {
			return err
		}
	}
	fresh.s = in.State
	*a = *fresh
	return nil
}

// restoreMember restores the learner and the coin of a member.
func (a *covering) restoreMember(i int, in *savedMember) error {
	b, c := in.Coin, in.Scales
	if b.Check() != nil || !(b.Wealth >= leastWealth && b.Wealth <= mostWealth) || (i == 0) != (c == nil) {
		return badSnapshot("damaged: learner %d has the coin %+v", i, b)
	}
	if c != nil {
		if len(c.Center) != len(c.Inverse) || !(c.MeanSquare > 0) || !unitInterval(c.PriorRate) ||
			(&Scaling{Center: c.Center, Inverse: c.Inverse}).check() != nil {
			return badSnapshot("damaged: the scales of learner %d", i)
		}
		s, err := a.begin(c)
		if err != nil {
			return err
		}
		a.members = append(a.members, s)
	}
	a.members[i].coin = b
	return a.members[i].learner.UnmarshalBinary(in.Learner)
}
