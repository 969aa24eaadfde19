package experiment

import (
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/pages"
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
	// Counted is the number of decisions whose feedback counts, only of private experiments.
	Counted int64 `json:"counted,omitempty"`
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
	// Masks are the arms that units allowed, nil if each of them allowed all.
	Masks *masks `json:"masks,omitempty"`
	columnMarks
	contexts
	// rows are the units that wait for feedback. JSON has their columns in the place of the marks.
	rows rows
	// contrasts caches the version's comparisons, nil where they must be computed again.
	contrasts []*compare.Sequence
}

func newCohort(memory *pages.Pool, d *definition.Definition, version, round uint64, mixture []float64) *cohort {
	c := &cohort{
		Version: version, Round: round, Mixture: mixture, columnMarks: marks,
		rows: rows{memory: memory, width: len(d.Metrics)},
	}
	c.Sums.Missing, c.contextual = make([]int64, len(d.Metrics)), d.Contextual()
	for range len(mixture) + 1 {
		c.Stats = append(c.Stats, compare.NewStats(d))
	}
	return c
}

// restore rebuilds the fields that a snapshot omits, with the columns of the rows, and checks that
// they fit.
func (c *cohort) restore(memory *pages.Pool, d *definition.Definition, columns *columnTables) error {
	width := len(d.Metrics)
	c.contextual, c.columnMarks = d.Contextual(), marks
	fits := c.contexts.fit(d, columns.len()) && c.Masks.restore(columns.len()) && columns.fit(width) &&
		len(c.Stats) == len(c.Mixture)+1 &&
		len(c.Test.Prior) == len(c.Mixture) &&
		(len(c.Test.Masked) == 0 || len(c.Test.Masked) == len(c.Mixture)) &&
		(len(c.Centre) == 0 || len(c.Centre) == width) &&
		(len(c.Later) == 0 || len(c.Later) == len(c.Stats)) && len(c.Sums.Missing) == width
	if !fits {
		return noregret.BadInputf("snapshot", "the columns of version %d do not fit", c.Version)
	}
	for _, stats := range [][]armStats{c.Stats, c.Later} {
		for i := range stats {
			if !stats[i].Fits(d) {
				return noregret.BadInputf("snapshot", "the statistics of version %d do not fit", c.Version)
			}
		}
	}
	if c.rows = (rows{memory: memory, width: width}); columns.len() > 0 {
		c.rows = columns.rows
		if columns.most > len(c.Mixture) {
			return noregret.BadInputf("snapshot", "version %d has no arm %d", c.Version, columns.most)
		}
	}
	return nil
}

// later returns the sums of a slot that count only when the window has closed.
func (c *cohort) later(d *definition.Definition, slot int) *armStats {
	if len(c.Later) == 0 {
		for range c.Stats {
			c.Later = append(c.Later, compare.NewStats(d))
		}
	}
	return &c.Later[slot]
}

// used reports whether the version has any report.
func (c *cohort) used() bool {
	return c.rows.len() > 0 || c.Test.Units > 0 || c.Stats[len(c.Mixture)].Units > 0
}

// find returns the row of a unit, or -1.
func (c *cohort) find(unit uint64) int { return c.rows.find(unit) }

// add appends a row for a unit and returns its index.
func (c *cohort) add(unit uint64, slot int) int {
	if c.contextual {
		c.contexts.add()
	}
	return c.rows.add(unit, slot)
}

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
	for _, r := range c.rows.all() {
		if !r.seen() {
			m.Orphans += r.reported()
			continue
		}
		m.Units++
		slot := r.slot()
		for i := range d.Metrics {
			if d.Metrics[i].Kind == "ratio" {
				continue
			}
			given := r.has(i)
			if !given {
				m.Missing[i]++
			}
			if p := d.Metrics[i].Default; p != nil {
				if !given {
					r.values[i] = *p
				}
				add(slot, i, r.values[i], given)
				r.mask |= 1 << i
			}
		}
		for j, q := range ratios {
			if r.has(q.Numerator) && r.has(q.Denominator) {
				pair(slot, j, r.values[q.Numerator], r.values[q.Denominator])
			}
		}
	}
	return m
}
