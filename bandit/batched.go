package bandit

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// BatchRule is the rule by which [Batched] shares out the pulls.
type BatchRule int

const (
	// BatchThompson gives each arm the probability that its mean is the largest, for independent
	// normal means with the estimates and their standard errors (Thompson 1933). The probability is
	// integrated numerically, to within 0.001.
	BatchThompson BatchRule = iota
	// BatchUCB gives everything to the arm of the largest upper confidence bound: the mean and
	// [UCBWidth] standard errors.
	BatchUCB
	// BatchKLUCB gives everything to the arm of the largest index of [KLUCB] with c = 0. It needs
	// the range of the rewards.
	BatchKLUCB
	// BatchTsallisINF gives the arms the weights of [TsallisINF] with the importance-weighted
	// estimator, on the losses High − reward. It needs the range of the rewards.
	BatchTsallisINF
)

// batchRules are the names of the rules.
var batchRules = []string{
	BatchThompson: "thompson", BatchUCB: "ucb", BatchKLUCB: "kl-ucb", BatchTsallisINF: "tsallis-inf",
}

// BatchRules returns the names of all rules, in the order of their constants.
func BatchRules() []string { return slices.Clone(batchRules) }

// ParseBatchRule returns the rule of a name, and ok = false if no rule has it.
func ParseBatchRule(name string) (rule BatchRule, ok bool) {
	i := slices.Index(batchRules, name)
	return BatchRule(i), i >= 0
}

func (r BatchRule) valid() bool { return r >= 0 && int(r) < len(batchRules) }

// String is the name of the rule, one of [BatchRules], or "unknown".
func (r BatchRule) String() string {
	if !r.valid() {
		return "unknown"
	}
	return batchRules[r]
}

// Ranged reports whether the rule needs the range of the rewards.
func (r BatchRule) Ranged() bool { return r == BatchKLUCB || r == BatchTsallisINF }

// Batch is what the pulls of one arm in a batch gave.
type Batch struct {
	// Arm is the index of an active arm.
	Arm int
	// Size is the number of pulls with a reward, from 1 to 1e15; 0 if there are only lost ones.
	Size float64
	// Lost is the number of pulls whose reward is lost, from 1 to 1e15, or 0. [BatchTsallisINF]
	// takes the mean reward of the batch for them, of all batches before if the batch has none, and
	// the middle of the range before the first. Others leave them out.
	Lost float64
	// Mean is the mean of their rewards: in the range, if the bandit has one, else of size at most
	// 1e100.
	Mean float64
	// Variance is the mean squared deviation of the rewards from Mean, from 0 to 1e200.
	Variance float64
}

// Batched learns the best of K arms from batches of pulls: many pulls are drawn from one
// distribution, and their rewards arrive together, perhaps after later batches have been drawn.
// Make one with [NewBatched].
//
// It counts pulls, not batches. An arm's mean is that of all its rewards. The variance of a reward
// is pooled over the arms: the sum of squared deviations from the arms' means over the number of
// pulls beyond each arm's first. Until that number is ten, [BatchThompson] and [BatchUCB] serve all
// arms evenly. An arm without rewards gets the share 1/K, so that an arm that comes later does not
// take everything until its first rewards arrive. Arms that tie share evenly.
//
// With [BatchTsallisINF] a batch adds Σ loss/p_k over its pulls to the estimate of arm k, where p_k
// is the probability with which the pulls were drawn, and the rate falls with the number of pulls:
// with one pull a batch this is [TsallisINF] and has its bound. In larger batches, and with late
// rewards, the feedback is delayed (Zimmert and Seldin 2020 treat delays); the estimates stay
// unbiased. An arm that could not be drawn in a batch counts as having lost what the batch lost in
// all: else an arm that comes while rewards are late would seem to lose nothing. So does an arm
// that some pulls of a batch did not allow, for these pulls: see [Batched.ObserveMasked].
//
// A batch costs O(K) and, with [BatchThompson], O(K·N) evaluations of the normal distribution
// function for N = 128 to 1,024 points. Not safe for concurrent use.
type Batched struct {
	rule      BatchRule
	low, high float64
	s         batchedState
	p, best   []float64
	score     []float64 // scratch
	quad      bestOf    // scratch
}

type batchedState struct {
	Pulls   float64
	Size    []float64
	Mean    []float64
	Pool    float64   // Σ of squared deviations from the arms' means
	Freedom float64   // of Pool
	Sums    []float64 // G̃ of Tsallis-INF, nil for other rules
	Active  []bool
}

// NewBatched returns a bandit on K ≥ 1 arms for rewards in [low, high]. [BatchThompson] and
// [BatchUCB] take rewards without a range: low −Inf and high +Inf. It returns an error of code
// bad_input if the rule is unknown, there is no arm, or the range is empty, or infinite for a rule
// that needs one.
func NewBatched(arms int, rule BatchRule, low, high float64) (*Batched, error) {
	switch {
	case !rule.valid():
		return nil, noregret.BadInputf("rule", "%d: want BatchThompson, BatchUCB, BatchKLUCB or BatchTsallisINF",
			int(rule))
	case arms < 1:
		return nil, noregret.BadInputf("arms", "%d: want at least 1", arms)
	case !(low < high):
		return nil, noregret.BadInputf("range", "from %v to %v: want low < high", low, high)
	case rule.Ranged() && !(high-low <= 1e100 && math.Abs(low) <= 1e100):
		return nil, noregret.BadInputf("range", "from %v to %v: the rule %v needs two numbers of size at most 1e100",
			low, high, rule)
	}
	b := &Batched{rule: rule, low: low, high: high}
	for range arms {
		b.push()
	}
	b.update()
	return b, nil
}

// push adds an arm.
func (b *Batched) push() {
	s := &b.s
	s.Size, s.Mean, s.Active = append(s.Size, 0), append(s.Mean, 0), append(s.Active, true)
	if b.rule == BatchTsallisINF {
		s.Sums = append(s.Sums, 0)
	}
	b.resize()
}

// resize makes the fields that a snapshot omits.
func (b *Batched) resize() {
	n := len(b.s.Size)
	b.p, b.best, b.score = make([]float64, n), make([]float64, n), make([]float64, n)
}

// Arms is K, retired arms included.
func (b *Batched) Arms() int { return len(b.p) }

// Pulls is the number of pulls observed.
func (b *Batched) Pulls() float64 { return b.s.Pulls }

// Serving returns the distribution to draw the next pulls from: the propensities to log. The caller
// must not change it.
func (b *Batched) Serving() []float64 { return b.p }

// Best returns the distribution to use if the experiment ended now: everything on the arm of the
// largest mean, the smallest estimated loss for [BatchTsallisINF], evenly among several, and
// uniform before the first reward. The caller must not change it.
func (b *Batched) Best() []float64 { return b.best }

// Estimate returns the mean reward of arm k and its standard error: 0 and +Inf before its first
// reward. The standard error is +Inf while no arm has two rewards.
func (b *Batched) Estimate(k int) (mean, standardError float64) {
	if b.s.Size[k] == 0 || b.s.Freedom == 0 {
		return b.s.Mean[k], math.Inf(1)
	}
	return b.s.Mean[k], b.standardError(k)
}

func (b *Batched) standardError(k int) float64 {
	return math.Sqrt(b.s.Pool / b.s.Freedom / b.s.Size[k])
}

// EstimatedLosses are the sums of the estimated losses by arm, on the scale on which the range is
// 1; nil unless the rule is [BatchTsallisINF]. The caller must not change them.
func (b *Batched) EstimatedLosses() []float64 { return b.s.Sums }

// Size is the number of pulls of arm k that count: what is left of them after [Batched.Discount].
func (b *Batched) Size(k int) float64 { return b.s.Size[k] }

// Discount multiplies the weight of all rewards so far by keep, from 0 to 1, as the discounted UCB
// of Garivier and Moulines (2011) does: means and the variance of a reward stay, and standard
// errors are those of as many pulls as the weights sum to. An arm of which less than one pull is
// left is one without rewards. It returns an error of code bad_input for another keep.
func (b *Batched) Discount(keep float64) error {
	if !(keep >= 0 && keep <= 1) {
		return noregret.BadInputf("keep", "%v: want a number from 0 to 1", keep)
	}
	s := &b.s
	s.Pulls, s.Pool, s.Freedom = float64(keep*s.Pulls), float64(keep*s.Pool), float64(keep*s.Freedom)
	for k := range s.Size {
		if s.Size[k] = float64(keep * s.Size[k]); s.Size[k] < 1 {
			s.Size[k], s.Mean[k] = 0, 0
		}
	}
	for k := range s.Sums {
		s.Sums[k] = float64(keep * s.Sums[k])
	}
	b.update()
	return nil
}

// Restart discards all rewards. Retired arms stay retired.
func (b *Batched) Restart() {
	s := &b.s
	s.Pulls, s.Pool, s.Freedom = 0, 0, 0
	clear(s.Size)
	clear(s.Mean)
	clear(s.Sums)
	b.update()
}

// Observe takes a batch, at most one part for each arm. Shares are the probabilities with which its
// pulls were drawn; there may be fewer than arms if arms have come since. It returns an error of
// code bad_input, and changes nothing, if the batch is empty, a part breaks the rules of [Batch],
// or its arm had no share.
func (b *Batched) Observe(batch []Batch, shares []float64) error {
	return b.ObserveMasked(batch, shares, nil)
}

// ObserveMasked takes a batch in which not all pulls allowed all arms. The share of an arm is then
// that among the pulls that allowed it: the pulls of the arm over Σ 1/p over them, where p is the
// probability of the arm in the pull, given what the pull allowed. The mean of the arm's rewards is
// weighted by 1/p if p differs between its pulls. Asleep has, for each arm that some pulls did not
// allow, the number of these pulls as Size, and the mean of their rewards as Mean, whatever arm
// they drew. With [BatchTsallisINF] the arm counts as having lost what they lost: on average that
// is neither a gain nor a loss on what was served. Errors are those of [Batched.Observe].
func (b *Batched) ObserveMasked(batch []Batch, shares []float64, asleep []Batch) error {
	if len(batch) == 0 {
		return noregret.BadInputf("batch", "empty: at least one part is required")
	}
	for i := range batch {
		if err := b.check("batch", batch, i, shares); err != nil {
			return err
		}
	}
	for i := range asleep {
		if err := b.check("asleep", asleep, i, nil); err != nil {
			return err
		}
	}
	b.credit(batch, shares, asleep)
	s := &b.s
	for _, q := range batch {
		if q.Size == 0 {
			continue
		}
		if s.Size[q.Arm] > 0 {
			s.Freedom++
		}
		s.Pulls += q.Size
		s.Freedom += q.Size - 1
		s.Size[q.Arm] += q.Size
		d := q.Mean - s.Mean[q.Arm]
		s.Mean[q.Arm] += float64(q.Size / s.Size[q.Arm] * d)
		s.Pool += float64(q.Size*q.Variance) + float64(q.Size*float64(d*(q.Mean-s.Mean[q.Arm])))
	}
	b.update()
	return nil
}

// credit adds a batch to the estimated losses.
func (b *Batched) credit(batch []Batch, shares []float64, asleep []Batch) {
	s := &b.s
	if s.Sums == nil {
		return
	}
	usual, total := b.usualLoss(batch), 0.0
	for _, q := range batch {
		loss := float64(q.Size*b.loss(q.Mean)) + float64(q.Lost*usual)
		s.Pulls += q.Lost // those with a reward are counted with their means
		s.Sums[q.Arm] = addEstimate(s.Sums[q.Arm], loss/shares[q.Arm])
		total += loss
	}
	for _, q := range asleep {
		if q.Arm < len(shares) && shares[q.Arm] > 0 {
			loss := float64(q.Size*b.loss(q.Mean)) + float64(q.Lost*usual)
			s.Sums[q.Arm] = addEstimate(s.Sums[q.Arm], loss)
		}
	}
	for k := range s.Sums {
		if k >= len(shares) || shares[k] == 0 {
			s.Sums[k] = addEstimate(s.Sums[k], total)
		}
	}
}

// loss is the loss of a reward.
func (b *Batched) loss(reward float64) float64 { return min(max((b.high-reward)/(b.high-b.low), 0), 1) }

// usualLoss is the mean loss of a batch, of all batches before if it has no reward, and ½ before
// the first.
func (b *Batched) usualLoss(batch []Batch) float64 {
	sum, n := 0.0, 0.0
	for _, q := range batch {
		sum += float64(q.Size * b.loss(q.Mean))
		n += q.Size
	}
	if n > 0 {
		return sum / n
	}
	for k, size := range b.s.Size {
		sum += float64(size * b.loss(b.s.Mean[k]))
		n += size
	}
	if n > 0 {
		return sum / n
	}
	return 0.5
}

// check returns an error if part i of a batch breaks a rule. Parts of pulls that did not allow the
// arm need no share.
func (b *Batched) check(place string, batch []Batch, i int, shares []float64) error {
	q, drawn := &batch[i], place == "batch"
	bad := func(format string, args ...any) error {
		return noregret.BadInputf(fmt.Sprintf("%s[%d]", place, i), format, args...)
	}
	slack := float64(1e-9 * (b.high - b.low))
	switch {
	case q.Arm < 0 || q.Arm >= b.Arms():
		return bad("arm %d is unknown: want one of 0 to %d", q.Arm, b.Arms()-1)
	case !b.s.Active[q.Arm] && drawn:
		return bad("arm %d is retired", q.Arm)
	case slices.ContainsFunc(batch[:i], func(o Batch) bool { return o.Arm == q.Arm }):
		return bad("arm %d has two parts: want one with all its pulls", q.Arm)
	case drawn && (q.Arm >= len(shares) || !(shares[q.Arm] > 0 && shares[q.Arm] <= 1)):
		return bad("arm %d had no share: it cannot have been drawn", q.Arm)
	case q.Lost != 0 && !(q.Lost >= 1 && q.Lost <= 1e15):
		return bad("%v pulls are lost: want 0, or a number from 1 to 1e15", q.Lost)
	case q.Size == 0 && q.Lost > 0:
	case !(q.Size >= 1 && q.Size <= 1e15):
		return bad("size %v: want a number from 1 to 1e15", q.Size)
	case !(math.Abs(q.Mean) <= 1e100):
		return bad("the mean %v: want a finite number, of size at most 1e100", q.Mean)
	case b.rule.Ranged() && !(q.Mean >= b.low-slack && q.Mean <= b.high+slack):
		return bad("the mean %v: want a number from %v to %v", q.Mean, b.low, b.high)
	case !(q.Variance >= 0 && q.Variance <= 1e200):
		return bad("the variance %v: want a number from 0 to 1e200", q.Variance)
	}
	return nil
}

// AddArm adds an arm and returns its index. For [BatchTsallisINF] the new arm begins with the
// average of the estimated losses of the others, weighted by their shares, as if it had been served
// in their place.
func (b *Batched) AddArm() int {
	sum := 0.0
	for k, v := range b.s.Sums {
		sum += float64(b.p[k] * v)
	}
	b.push()
	if k := b.Arms() - 1; b.s.Sums != nil {
		b.s.Sums[k] = sum
	}
	b.update()
	return b.Arms() - 1
}

// RetireArm removes arm k for good. It returns an error of code bad_input if the arm does not
// exist, is already retired or is the last active one.
func (b *Batched) RetireArm(k int) error {
	switch {
	case k < 0 || k >= b.Arms():
		return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, b.Arms()-1)
	case !b.s.Active[k]:
		return noregret.BadInputf("arm", "%d is already retired", k)
	case b.live() == 1:
		return noregret.BadInputf("arm", "%d is the last active one: at least one must stay", k)
	}
	b.s.Active[k] = false
	b.update()
	return nil
}

// live returns the number of active arms.
func (b *Batched) live() int {
	n := 0
	for _, a := range b.s.Active {
		if a {
			n++
		}
	}
	return n
}

// String describes the bandit in one line.
func (b *Batched) String() string {
	return fmt.Sprintf("batched(%v, range=[%v, %v])", b.rule, b.low, b.high)
}

const batchedMagic = "noregret-batched-2\n"

// MarshalBinary returns a snapshot: a bandit of the same rule and range that restores it continues
// bit for bit.
func (b *Batched) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(batchedMagic, b.String(), &b.s)
}

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or has another rule or range.
func (b *Batched) UnmarshalBinary(data []byte) error {
	var s batchedState
	if err := snapshot.Open(data, batchedMagic, b.String(), &s); err != nil {
		return err
	}
	n, sums := len(s.Size), 0
	if b.rule == BatchTsallisINF {
		sums = n
	}
	ok := n > 0 && len(s.Mean) == n && len(s.Active) == n && len(s.Sums) == sums && slices.Contains(s.Active, true) &&
		finite(s.Mean) && finite(s.Size) && finite(s.Sums) && finite([]float64{s.Pulls, s.Pool, s.Freedom}) &&
		s.Pulls >= 0 && s.Pool >= 0 && s.Freedom >= 0
	for _, v := range s.Size {
		ok = ok && v >= 0
	}
	if !ok {
		return snapshot.Bad("damaged: the parts do not fit %d arms", n)
	}
	b.s = s
	b.resize()
	b.update()
	return nil
}
