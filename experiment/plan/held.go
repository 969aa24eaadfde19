package plan

import (
	"math"

	"github.com/noregret/noregret/confseq"
)

// armsLevel is the part of a guardrail's alpha that the sequences of the arms share.
const armsLevel = (1 - servedLevel) / 2

// judge judges a relative guardrail along a course as the experiment does: by the sequence of what
// was served, moved to the mixture that is served now by those of the arms.
type judge struct {
	*course
	metric int
	limit  float64
	up     bool
	alpha  float64
	o      confseq.ContrastOptions
	judged int // the rounds that count
	// The contrasts of all units, of the best arm, of another arm and of the control.
	served, best, other, control confseq.Contrast
}

// held returns the day at which a change is shown to hold in what is served, nil if that is beyond
// ten years.
func (x *course) held(metric int, limit, alpha float64, up bool) *float64 {
	j := judge{
		course: x, metric: metric, limit: limit, up: up, alpha: alpha,
		o: confseq.ContrastOptions{Width: x.width(metric), Inflation: 1},
	}
	for x.history[len(x.history)-1].day < longest {
		x.next()
		to := len(x.history) - 1
		if x.waits(metric) {
			to = x.closed()
		}
		for j.judged < to {
			j.judged++
			j.add(x.history[j.judged-1], x.history[j.judged])
		}
		if best, other := x.shares(x.history[x.closed()]); j.holds(best, other) {
			return some(x.history[len(x.history)-1].day)
		}
	}
	return nil
}

// add adds the round between two entries of the history.
func (j *judge) add(from, to units) {
	more := float64(j.arms - 1)
	better := j.improved(j.metric)/mean(j.d, j.metric) - 1
	best, other, control := to.best-from.best, to.other-from.other, to.control-from.control
	rest := best + float64(more*other)
	// The farthest value is that of all rounds.
	group := func(n, change, all float64) confseq.Group {
		g := j.group(j.metric, n, change)
		g.Farthest = j.farthest(j.metric, all)
		return g
	}
	c := group(control, 0, to.control)
	j.control.AddControl(c, rest+control)
	if rest > 0 {
		j.served.AddServed(group(rest, float64(better*(best/rest)), to.best+float64(more*to.other)), c)
		j.best.AddArm(group(best, better, to.best), c, rest+control)
		j.other.AddArm(group(other, 0, to.other), c, rest+control)
	}
	if j.o.Tight == 0 {
		j.o.Tight = j.served.Tight(j.limit)
	}
}

// holds reports whether the mixture of these shares is shown to hold.
func (j *judge) holds(best, other float64) bool {
	if !(j.served.Weight > 0) {
		return false
	}
	more := float64(j.arms - 1)
	total := j.control.Weight + j.best.Weight + float64(more*j.other.Weight)
	low, high := j.served.Interval(j.limit, j.alpha, j.o)
	move := func(c *confseq.Contrast, share, arms float64) {
		moved := share - c.Weight/total
		if !(arms > 0) || moved == 0 {
			return
		}
		from, to := c.Interval(j.limit, float64(j.alpha/servedLevel*armsLevel)/float64(j.arms+1), j.o)
		if moved < 0 {
			from, to = to, from
		}
		low += float64(float64(arms*moved) * from)
		high += float64(float64(arms*moved) * to)
	}
	move(&j.control, 1-best-float64(more*other), 1)
	move(&j.best, best, 1)
	move(&j.other, other, more)
	return j.up && low >= 0 || !j.up && high <= 0 && !math.IsNaN(high)
}
