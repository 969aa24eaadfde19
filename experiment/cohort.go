package experiment

import (
	"math/bits"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
)

// A cohort keeps the units of one policy version and what was reported of them, until the version
// has ended and the attribution window after it has closed.
type cohort struct {
	Version uint64 `json:"version"`
	Round   uint64 `json:"round"`
	Sealed  int64  `json:"sealed"` // when the version ended, 0 while it runs
	Begun   int64  `json:"begun"`
	// Learnable is false for versions that began while the experiment was paused: they are not
	// learned from.
	Learnable bool `json:"learn"`
	// Blind is whether a contextual experiment serves a mixture under the version, whatever the
	// contexts.
	Blind bool `json:"blind,omitempty"`
	// Mixture are the exact propensities, by arm.
	Mixture f64s `json:"mixture"`
	// Hold is the share of units outside the experiment, in 2^-64ths.
	Hold uint64 `json:"hold,string"`
	// Stats holds the statistics by arm and, last, those of the units held back.
	Stats []armStats `json:"stats"`
	// Later holds, by slot, the sums that count only when the window has closed; it is empty
	// without sums. Sums counts the units of sums and, by metric, those without a value.
	Later []armStats `json:"later,omitempty"`
	// Centre is the value from which contrasts measure deviations, by metric; NaN if it was unknown
	// when the version began.
	Centre f64s       `json:"centre,omitempty"`
	Sums   maturity   `json:"sums"`
	Test   ratioCount `json:"test"`
	// The open tokens, one row each.
	Unit   u64s `json:"unit"`
	Slot   u32s `json:"slot"`   // the arm, or len(Mixture) for a unit held back; with seenBit once exposed
	Mask   u64s `json:"mask"`   // of the metrics reported
	Values f64s `json:"values"` // those metrics, in the order of their numbers, by row: width a row
	contexts
	width int
	// contrasts caches the version's contrasts, nil if they must be computed again.
	contrasts []contrasts
	index     map[uint64]uint32
}

const seenBit = 1 << 31

func newCohort(d *definition.Definition, version, round uint64, mixture []float64) *cohort {
	c := &cohort{Version: version, Round: round, Mixture: mixture, width: len(d.Metrics), index: map[uint64]uint32{}}
	c.Sums.Missing, c.contextual = make([]int64, len(d.Metrics)), d.Contextual()
	for range len(mixture) + 1 {
		c.Stats = append(c.Stats, newArmStats(d))
	}
	return c
}

// restore rebuilds the fields that a snapshot omits and checks that the columns fit.
func (c *cohort) restore(d *definition.Definition) error {
	c.width, c.contextual = len(d.Metrics), d.Contextual()
	n := len(c.Unit)
	fits := c.contexts.fit(d, n) && len(c.Slot) == n && len(c.Mask) == n && len(c.Values) == n*c.width &&
		len(c.Stats) == len(c.Mixture)+1 &&
		len(c.Test.Prior) == len(c.Mixture) &&
		(len(c.Test.Masked) == 0 || len(c.Test.Masked) == len(c.Mixture)) &&
		(len(c.Centre) == 0 || len(c.Centre) == c.width) &&
		(len(c.Later) == 0 || len(c.Later) == len(c.Stats)) && len(c.Sums.Missing) == c.width
	if !fits {
		return noregret.BadInputf("snapshot", "the columns of version %d do not fit", c.Version)
	}
	c.index = make(map[uint64]uint32, n)
	for i, u := range c.Unit {
		c.index[u] = uint32(i)
		if int(c.Slot[i]&^seenBit) > len(c.Mixture) {
			return noregret.BadInputf("snapshot", "version %d has no arm %d", c.Version, c.Slot[i]&^seenBit)
		}
	}
	for _, stats := range [][]armStats{c.Stats, c.Later} {
		for i := range stats {
			if len(stats[i].Metrics) != c.width || len(stats[i].Pairs) != len(d.Ratios()) {
				return noregret.BadInputf("snapshot", "the statistics of version %d do not fit", c.Version)
			}
		}
	}
	return nil
}

// later returns the sums of a slot that count only when the window has closed.
func (c *cohort) later(d *definition.Definition, slot int) *armStats {
	if len(c.Later) == 0 {
		for range c.Stats {
			c.Later = append(c.Later, newArmStats(d))
		}
	}
	return &c.Later[slot]
}

// used reports whether the version has any report.
func (c *cohort) used() bool {
	return c.rows() > 0 || c.Test.Units > 0 || c.Stats[len(c.Mixture)].Units > 0
}

func (c *cohort) rows() int { return len(c.Unit) }

// find returns the row of a unit, or -1.
func (c *cohort) find(unit uint64) int {
	if i, ok := c.index[unit]; ok {
		return int(i)
	}
	return -1
}

// add appends a row for a unit and returns its index.
func (c *cohort) add(unit uint64, slot int) int {
	i := len(c.Unit)
	c.index[unit] = uint32(i)
	if c.contextual {
		c.contexts.add()
	}
	c.Unit, c.Slot, c.Mask = append(c.Unit, unit), append(c.Slot, uint32(slot)), append(c.Mask, 0)
	for range c.width {
		c.Values = append(c.Values, 0)
	}
	return i
}

func (c *cohort) seen(row int) bool { return c.Slot[row]&seenBit != 0 }
func (c *cohort) slot(row int) int  { return int(c.Slot[row] &^ seenBit) }

// maturity holds the counts of a cohort whose window has closed.
type maturity struct {
	Units   int64   `json:"units"`   // exposed
	Missing []int64 `json:"missing"` // by metric: exposed units without a value
	Orphans int64   `json:"orphans"` // values of units whose exposure was never reported
}

// mature closes the rows: it fills in defaults and completes ratios. It calls add for each value
// that counts only now; given is whether it was reported.
func (c *cohort) mature(d *definition.Definition, add func(slot, metric int, v float64, given bool),
	pair func(slot, ratio int, x, y float64),
) maturity {
	m := maturity{Units: c.Sums.Units, Missing: slices.Clone(c.Sums.Missing)}
	ratios := d.Ratios()
	for row := range c.Unit {
		if !c.seen(row) {
			m.Orphans += int64(bits.OnesCount64(c.Mask[row]))
			continue
		}
		m.Units++
		values, mask, slot := c.Values[row*c.width:(row+1)*c.width], c.Mask[row], c.slot(row)
		for i := range d.Metrics {
			if d.Metrics[i].Kind == "ratio" {
				continue
			}
			if mask&(1<<i) == 0 {
				m.Missing[i]++
			}
			if p := d.Metrics[i].Default; p != nil {
				given := mask&(1<<i) != 0
				if !given {
					values[i] = *p
				}
				add(slot, i, values[i], given)
				mask |= 1 << i
			}
		}
		for j, r := range ratios {
			if mask&(1<<r.Numerator) != 0 && mask&(1<<r.Denominator) != 0 {
				pair(slot, j, values[r.Numerator], values[r.Denominator])
			}
		}
	}
	return m
}
