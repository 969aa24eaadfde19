package offpolicy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/random"
)

// DoctorOptions describe a healthy log. Begin with [DefaultDoctorOptions].
type DoctorOptions struct {
	// Arms is the number of arms, at least 1.
	Arms int
	// Low and High are the range of the rewards, finite, Low < High.
	Low, High float64
	// Shares are the logging policy's probabilities of the arms, where they are the same in all
	// rows. They stand in for the probabilities of rows that have none of their own. They may be
	// empty.
	Shares []float64
	// Prior is the weight of the prior of the test of the counts, in rows per arm, above 0.
	Prior float64
	// Alpha is the probability of a false alarm for each of the two tests, in (0, 1).
	Alpha float64
	// MinEffective is the effective sample size below which the Doctor complains.
	MinEffective float64
	// ClockSlack is by how much a row may be earlier than the row before it.
	ClockSlack time.Duration
	// RecentIDs is the number of identifiers among which duplicates are looked for, the latest
	// ones, at least 0. Each takes some 50 bytes.
	RecentIDs int
}

// DefaultDoctorOptions are for rewards in [0, 1]. A test gives a false alarm in one healthy log of
// a thousand, 100 effective rows are required, clocks may differ by a minute, and the last million
// identifiers are remembered.
func DefaultDoctorOptions(arms int) DoctorOptions {
	return DoctorOptions{
		Arms: arms, Low: 0, High: 1, Prior: 50, Alpha: 0.001, MinEffective: 100, ClockSlack: time.Minute,
		RecentIDs: 1_000_000,
	}
}

func (o DoctorOptions) check() error {
	e := DefaultEvaluatorOptions(o.Arms)
	e.Low, e.High = o.Low, o.High
	if err := e.check(); err != nil {
		return err
	}
	switch {
	case !(o.Prior > 0 && o.Prior <= 1e9):
		return noregret.BadInputf("prior", "%v: a number in (0, 1e9] is required", o.Prior)
	case !(o.Alpha > 0 && o.Alpha < 1):
		return noregret.BadInputf("alpha", "%v: a number between 0 and 1 is required", o.Alpha)
	case !(o.MinEffective >= 0) || o.ClockSlack < 0 || o.RecentIDs < 0:
		return noregret.BadInputf("options", "the effective rows %v, the clock's slack %v and the identifiers %d "+
			"must be at least 0", o.MinEffective, o.ClockSlack, o.RecentIDs)
	case len(o.Shares) > 0:
		return checkDistribution("shares", o.Shares, o.Arms)
	}
	return nil
}

// Kind is a kind of [Finding].
type Kind string

// The kinds of findings. The first seven are about single rows, the last three about the log.
const (
	// BadArm is an arm that does not exist.
	BadArm Kind = "bad-arm"
	// ImpossibleArm is an arm to which the logging policy gave no probability.
	ImpossibleArm Kind = "impossible-arm"
	// BadPropensity is one outside (0, 1], or another one than in the row's list.
	BadPropensity Kind = "bad-propensity"
	// BadProbabilities is a list of the wrong length or without the sum 1.
	BadProbabilities Kind = "bad-probabilities"
	// BadReward is one that is not finite or outside the range.
	BadReward Kind = "bad-reward"
	// DuplicateID is an identifier that an earlier row has.
	DuplicateID Kind = "duplicate-id"
	// ClockBack is a row earlier than the one before it.
	ClockBack Kind = "clock-back"
	// FewEffective is a small effective sample size.
	FewEffective Kind = "few-effective"
	// MeanWeight is a mean weight that cannot be 1, as it is for right propensities.
	MeanWeight Kind = "mean-weight"
	// SampleRatioBroken is counts of arms that do not fit the propensities.
	SampleRatioBroken Kind = "sample-ratio-broken"
)

var kinds = []Kind{
	BadArm, ImpossibleArm, BadPropensity, BadProbabilities, BadReward, DuplicateID, ClockBack, FewEffective, MeanWeight,
	SampleRatioBroken,
}

// Finding is something wrong with a log.
type Finding struct {
	Kind Kind
	// Rows is the number of rows with it, or of all rows that were looked at.
	Rows int64
	// First is the number of the first such row, from 1, and 0 for a finding about the log.
	First int64
	// Message describes the first such row, or the log.
	Message string
}

// Report is what a [Doctor] found.
type Report struct {
	// Rows is the number of rows.
	Rows int64
	// Counts are the rows by arm.
	Counts []int64
	// Weights are those of the row's target policy, and of the uniform policy in rows without one.
	// Rows with a wrong arm, propensity or target are left out.
	Weights Weights
	// RatioRows is the number of rows in the test of the counts: those whose probabilities of all
	// arms are known. RatioP is its p-value, valid at all times, and 1 without such rows.
	RatioRows int64
	RatioP    float64
	// Findings are in the order of the kinds.
	Findings []Finding
}

// Healthy reports whether nothing is wrong.
func (r *Report) Healthy() bool { return len(r.Findings) == 0 }

// Doctor looks for what is wrong with a log. Make one with [NewDoctor]. Its memory is O(1), but for
// O(Arms) counts and the recent identifiers.
type Doctor struct {
	o        DoctorOptions
	rows     int64
	counts   []int64
	findings map[Kind]*Finding
	weight   confseq.Sequence
	sum      compensated.Sum
	squares  compensated.Sum
	ratio    *ratio
	last     time.Time
	ids      map[uint64]bool
	recent   []uint64 // a ring of the keys of ids
	oldest   int
}

// NewDoctor returns a doctor without rows. It returns an error of code bad_input if an option is
// out of its range.
func NewDoctor(o DoctorOptions) (*Doctor, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Shares = slices.Clone(o.Shares)
	return &Doctor{
		o: o, counts: make([]int64, o.Arms), findings: map[Kind]*Finding{}, ratio: newRatio(o.Arms, o.Prior),
		ids: map[uint64]bool{},
	}, nil
}

// Add looks at a row. O(Arms).
func (d *Doctor) Add(r *Row) {
	d.rows++
	d.addID(r.ID)
	d.addTime(r.Time)
	if !(r.Reward >= d.o.Low && r.Reward <= d.o.High) {
		d.note(BadReward, "the reward %v is outside the range [%v, %v]", r.Reward, d.o.Low, d.o.High)
	}
	if r.Arm < 0 || r.Arm >= d.o.Arms {
		d.note(BadArm, "arm %d does not exist: the arms are 0 to %d", r.Arm, d.o.Arms-1)
		return
	}
	d.counts[r.Arm]++
	target := d.goodList("target", r.Target)
	if p := r.Propensity; p > 0 && p <= 1 {
		if len(r.Target) == 0 {
			d.addWeight(1 / float64(d.o.Arms) / p)
		} else if target {
			d.addWeight(r.Target[r.Arm] / p)
		}
	} else {
		d.note(BadPropensity, "the propensity %v must be in (0, 1]", p)
	}
	d.addProbabilities(r)
}

func (d *Doctor) note(k Kind, format string, args ...any) {
	f := d.findings[k]
	if f == nil {
		f = &Finding{Kind: k, First: d.rows, Message: fmt.Sprintf(format, args...)}
		d.findings[k] = f
	}
	f.Rows++
}

// goodList notes a list of probabilities that is wrong. It reports whether there is a good one.
func (d *Doctor) goodList(what string, p []float64) bool {
	if len(p) == 0 {
		return false
	}
	if err := checkDistribution(what, p, d.o.Arms); err != nil {
		d.note(BadProbabilities, "%v", err)
		return false
	}
	return true
}

func (d *Doctor) addWeight(w float64) {
	if w*w > math.MaxFloat64 || d.weight.Add(w) != nil {
		return
	}
	d.sum.Add(w)
	d.squares.AddProduct(w, w)
}

// addProbabilities looks at the probabilities of all arms and counts the row in the test.
func (d *Doctor) addProbabilities(r *Row) {
	p := r.Propensities
	if len(p) == 0 {
		p = d.o.Shares
	} else if !d.goodList("propensities", p) {
		return
	}
	if len(p) == 0 {
		return
	}
	switch {
	case p[r.Arm] == 0:
		d.note(ImpossibleArm, "arm %d was chosen with the probability 0", r.Arm)
		return
	case r.Propensity > 0 && r.Propensity <= 1 && math.Abs(p[r.Arm]-r.Propensity) > sumTolerance:
		d.note(BadPropensity, "the propensity is %v, but arm %d has the probability %v", r.Propensity, r.Arm, p[r.Arm])
	}
	d.ratio.add(r.Arm, p)
}

func (d *Doctor) addTime(t time.Time) {
	if t.IsZero() {
		return
	}
	if back := d.last.Sub(t); !d.last.IsZero() && back > d.o.ClockSlack {
		d.note(ClockBack, "the row is %v earlier than the one before", back)
	}
	d.last = t
}

// addID looks for the identifier among the recent ones by a hash of 64 bits.
func (d *Doctor) addID(id string) {
	if id == "" || d.o.RecentIDs == 0 {
		return
	}
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h = random.Mix(h)
	if d.ids[h] {
		d.note(DuplicateID, "the identifier %.40q occurred before", id)
		return
	}
	if len(d.recent) < d.o.RecentIDs {
		d.recent = append(d.recent, h)
	} else {
		delete(d.ids, d.recent[d.oldest])
		d.recent[d.oldest] = h
		d.oldest = (d.oldest + 1) % len(d.recent)
	}
	d.ids[h] = true
}

// Report returns what was found so far. O(Arms).
func (d *Doctor) Report() Report {
	out := Report{Rows: d.rows, Counts: slices.Clone(d.counts), RatioRows: d.ratio.rows, RatioP: d.ratio.p()}
	out.Weights = Weights{
		Rows: d.weight.N, Mean: d.sum.Value() / float64(d.weight.N), Largest: d.weight.High,
		Effective: effective(d.sum.Value(), d.squares.Value()),
	}
	found := map[Kind]*Finding{}
	for k, f := range d.findings {
		found[k] = f
	}
	w := out.Weights
	if w.Effective < d.o.MinEffective {
		found[FewEffective] = &Finding{Kind: FewEffective, Rows: w.Rows, Message: fmt.Sprintf(
			"the effective sample size is %.4g, below %v", w.Effective, d.o.MinEffective)}
	}
	if low, high := d.weight.Interval(d.o.Alpha, 0, math.Inf(1)); low > 1 || high < 1 {
		found[MeanWeight] = &Finding{Kind: MeanWeight, Rows: w.Rows, Message: fmt.Sprintf(
			"the mean weight is %.4g and its confidence sequence [%.4g, %.4g], without 1", w.Mean, low, high)}
	}
	if out.RatioP < d.o.Alpha {
		found[SampleRatioBroken] = &Finding{Kind: SampleRatioBroken, Rows: out.RatioRows, Message: fmt.Sprintf(
			"the counts of the arms do not fit their probabilities (p = %.3g)", out.RatioP)}
	}
	for _, k := range kinds {
		if f := found[k]; f != nil {
			out.Findings = append(out.Findings, *f)
		}
	}
	return out
}
