package join

import (
	"bytes"
	"encoding/base64"
	"io"
	"iter"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/internal/strictjson"
)

// Version is a policy version of which the window of a metric is open: its units and what was
// reported of them. A slot is the index of an arm, or, after the last arm, of the units held back.
//
// Only a [Joiner] changes a Version, but for Learned, which is the caller's.
type Version struct {
	Version uint64 `json:"version"`
	Round   uint64 `json:"round"`
	Sealed  int64  `json:"sealed"` // when the version ended, in nanoseconds since 1970; 0 while it runs
	Begun   int64  `json:"begun"`
	// Learnable is false for versions that began while the experiment was paused: they are not
	// learned from.
	Learnable bool `json:"learn"`
	// Matured has a bit for each metric whose window has closed, before that of another one has.
	Matured uint64 `json:"matured,omitempty,string"`
	// Learned is whether a policy has learned from the version although a window is still open.
	Learned bool `json:"learned,omitempty"`
	// Counted is the number of decisions whose feedback counts, only of private experiments.
	Counted int64 `json:"counted,omitempty"`
	// Blind is whether a contextual experiment serves a mixture under the version, whatever the
	// contexts.
	Blind bool `json:"blind,omitempty"`
	// Mixture are the exact propensities, by arm.
	Mixture column.Float64s `json:"mixture"`
	// Hold is the share of units outside the experiment, in 2^-64ths.
	Hold uint64 `json:"hold,string"`
	// Stats has the sums by slot: of units from their exposure on, of values from when both the
	// value and the exposure are known. Values of metrics with a default, and ratios, are added
	// when the window of the metric closes.
	Stats []compare.Stats `json:"stats"`
	// Later has, by slot, what aggregates add to Stats when a window closes; it is empty without
	// aggregates. Sums counts their units and, by metric, those without a value.
	Later []compare.Stats `json:"later,omitempty"`
	Sums  Maturity        `json:"sums"`
	// Early has, by arm and metric, the values of metrics with a default that are known before the
	// window closes; lists end at the last one with a value. They stay as they are once Masks is
	// not empty.
	Early [][]Early `json:"early,omitempty"`
	// EarlyUnits has, by arm, the exposed units whose values Early has: nil for those of Stats, as
	// long as Masks is empty.
	EarlyUnits []int64 `json:"early_units,omitempty"`
	// Centre is the value from which contrasts measure deviations, by metric: the control's mean
	// when the version began, NaN if it was unknown.
	Centre column.Float64s `json:"centre,omitempty"`
	Test   ratioCount      `json:"test"`
	// Masks are the arms that units allowed, nil if each of them allowed all.
	Masks *Masks `json:"masks,omitempty"`
	columnMarks
	contexts
	// rows are the units that wait for feedback. JSON has their columns in the place of the marks.
	rows    rows
	changes uint64 // of Stats and Early
}

// columnMarks are in the place of the columns of a version's rows while the rest of it is JSON in
// memory. The columns are written and read in pieces, as they may be larger than that.
type columnMarks struct {
	Unit   string `json:"unit"`
	Slot   string `json:"slot"`
	Mask   string `json:"mask"`
	Values string `json:"values"`
}

var (
	marks    = columnMarks{"@unit", "@slot", "@mask", "@values"}
	markText = []byte(`"unit":"@unit","slot":"@slot","mask":"@mask","values":"@values"`)
)

func newVersion(memory *pages.Pool, d *definition.Definition, mixture []float64) *Version {
	v := &Version{Mixture: mixture, columnMarks: marks, rows: rows{memory: memory, width: len(d.Metrics)}}
	v.Sums.Missing, v.contextual = make([]int64, len(d.Metrics)), d.Contextual()
	for range len(mixture) + 1 {
		v.Stats = append(v.Stats, compare.NewStats(d))
	}
	return v
}

// Restore rebuilds what a snapshot omits of a version that was read from one, with its rows, and
// returns an error unless they fit each other and the definition.
func (v *Version) Restore(memory *pages.Pool, d *definition.Definition, columns *Columns) error {
	width := len(d.Metrics)
	v.contextual, v.columnMarks = d.Contextual(), marks
	fits := v.contexts.fit(d, columns.len()) && v.Masks.restore(columns.len()) && columns.fit(width) &&
		len(v.Stats) == len(v.Mixture)+1 &&
		len(v.Test.Prior) == len(v.Mixture) &&
		(len(v.Test.Masked) == 0 || len(v.Test.Masked) == len(v.Mixture)) &&
		(v.EarlyUnits == nil || len(v.EarlyUnits) == len(v.Mixture)) &&
		v.Matured>>width == 0 && (len(v.Centre) == 0 || len(v.Centre) == width) && len(v.Early) <= len(v.Mixture) &&
		(len(v.Later) == 0 || len(v.Later) == len(v.Stats)) && len(v.Sums.Missing) == width
	if !fits {
		return noregret.BadInputf("snapshot", "the columns of version %d do not fit", v.Version)
	}
	for _, stats := range [][]compare.Stats{v.Stats, v.Later} {
		for i := range stats {
			if !stats[i].Fits(d) {
				return noregret.BadInputf("snapshot", "the statistics of version %d do not fit", v.Version)
			}
		}
	}
	if v.rows = (rows{memory: memory, width: width}); columns.len() > 0 {
		v.rows = columns.rows
		if columns.most > len(v.Mixture) {
			return noregret.BadInputf("snapshot", "version %d has no arm %d", v.Version, columns.most)
		}
	}
	return nil
}

// Contextual reports whether the version decided by contexts.
func (v *Version) Contextual() bool { return v.contextual && !v.Blind }

// Closed reports whether the window of a metric has closed: its sums are those of all units.
func (v *Version) Closed(metric int) bool { return v.Matured&(1<<metric) != 0 }

// Changes counts the changes of Stats and Early since the version was made or read. What is
// computed from them can be kept as long as it stays the same.
func (v *Version) Changes() uint64 { return v.changes }

// freezeEarly ends Early before the first unit that did not allow all arms.
func (v *Version) freezeEarly() {
	if v.EarlyUnits != nil {
		return
	}
	for k := range v.Mixture {
		v.EarlyUnits = append(v.EarlyUnits, v.Stats[k].Units)
	}
}

// ExposedEarly returns the exposed units of an arm whose values Early has.
func (v *Version) ExposedEarly(arm int) int64 {
	if v.EarlyUnits != nil {
		return v.EarlyUnits[arm]
	}
	return v.Stats[arm].Units
}

// Arms returns the sums by arm, without the units held back.
func (v *Version) Arms() []compare.Stats { return v.Stats[:len(v.Mixture)] }

// Len returns the number of units that wait for feedback.
func (v *Version) Len() int { return v.rows.len() }

// Find returns the row of a unit, or -1. O(1).
func (v *Version) Find(unit uint64) int { return v.rows.find(unit) }

// Rows returns the units in the order in which they began to wait. A row is valid until the next
// one.
func (v *Version) Rows() iter.Seq2[int, *Row] { return v.rows.all() }

// Width returns the number of metrics of a row, and Records the bytes of the rows, in chunks that
// are valid until the next one: what [Columns.Fill] reads.
func (v *Version) Width() int { return v.rows.width }

// Records returns the rows as they are in memory: see [Version.Width].
func (v *Version) Records() iter.Seq[[]byte] { return v.rows.records() }

// Release gives back the memory of the rows at once. The version has then no rows.
func (v *Version) Release() { v.rows.release() }

// WriteJSON writes the version as JSON with the columns of its rows, in pieces: it needs little
// memory for them. [Columns] reads the columns. Without them the JSON is that of encoding/json.
func (v *Version) WriteJSON(to io.Writer) error {
	b, err := strictjson.Encode(v)
	if err != nil {
		return err
	}
	w := &firstError{to: to}
	before, after, _ := bytes.Cut(b, markText)
	_, _ = w.Write(before)
	for _, p := range []struct {
		name     string
		from, to int
	}{
		{`"unit":"`, unitAt, stateAt},
		{`","slot":"`, stateAt, maskAt},
		{`","mask":"`, maskAt, valuesAt},
		{`","values":"`, valuesAt, v.rows.size()},
	} {
		_, _ = w.Write([]byte(p.name))
		encode := base64.NewEncoder(base64.StdEncoding, w)
		for chunk := range v.rows.column(p.from, p.to) {
			_, _ = encode.Write(chunk)
		}
		_ = encode.Close() // w has the error
	}
	_, _ = w.Write([]byte(`"`))
	_, _ = w.Write(after)
	return w.err
}

// firstError writes until an error.
type firstError struct {
	to  io.Writer
	err error
}

// Write implements [io.Writer].
func (w *firstError) Write(b []byte) (n int, err error) {
	if w.err == nil {
		n, w.err = w.to.Write(b)
	}
	return n, w.err
}

// later returns the sums of a slot that count only when the window has closed.
func (v *Version) later(d *definition.Definition, slot int) *compare.Stats {
	if len(v.Later) == 0 {
		for range v.Stats {
			v.Later = append(v.Later, compare.NewStats(d))
		}
	}
	return &v.Later[slot]
}

// used reports whether the version has any report.
func (v *Version) used() bool {
	return v.rows.len() > 0 || v.Test.Units > 0 || v.Stats[len(v.Mixture)].Units > 0
}

// add appends a row for a unit and returns its index.
func (v *Version) add(unit uint64, slot int) int {
	if v.contextual {
		v.contexts.add()
	}
	return v.rows.add(unit, slot)
}

// copy returns a copy that can be read and extended; its rows cannot be searched.
func (v *Version) copy() *Version {
	w := *v
	w.Centre, w.Test.Masked = slices.Clone(v.Centre), slices.Clone(v.Test.Masked)
	w.Stats, w.Later = compare.CopyStats(v.Stats), compare.CopyStats(v.Later)
	w.Sums.Missing, w.Early, w.EarlyUnits = slices.Clone(v.Sums.Missing), copyEarly(v.Early), slices.Clone(v.EarlyUnits)
	w.rows, w.contexts, w.Masks = v.rows.copy(), v.contexts.copy(), v.Masks.copy()
	return &w
}

// Maturity has the counts of a version of which windows have closed.
type Maturity struct {
	Units   int64   `json:"units"`   // exposed
	Missing []int64 `json:"missing"` // by metric: exposed units without a value when its window closed
	Orphans int64   `json:"orphans"` // values of units whose exposure was never reported
}

// Expected returns the expected numbers of units of the arms that have a share, in their order:
// those of the units that allowed the arm, times its share among the arms that they allowed. In
// contexts it goes by the mean shares. O(rows) with masks, else O(arms).
func (v *Version) Expected() []float64 {
	left := 0.0
	for k := range v.Mixture {
		left += float64(v.Stats[k].Units)
	}
	sum := make([]float64, len(v.Mixture))
	if v.Masks != nil {
		counts := make([]float64, len(v.Masks.Sets))
		for at, r := range v.rows.all() {
			if at < len(v.Masks.Of) && v.Masks.Of[at] > 0 && r.Seen() && r.Slot() < len(v.Mixture) {
				counts[v.Masks.Of[at]-1]++
				left--
			}
		}
		for i, set := range v.Masks.Sets {
			if total := shareAmong(v.Mixture, set); total > 0 {
				for _, k := range set {
					if int(k) < len(sum) {
						sum[k] += float64(counts[i] * (v.Mixture[k] / total))
					}
				}
			}
		}
	}
	out := sum[:0]
	for k, p := range v.Mixture {
		if p > 0 {
			out = append(out, sum[k]+float64(left*p))
		}
	}
	return out
}

// ChanceOf returns the probability of the arm of a row in its context among the arms that it
// allowed, and the number of these, of all the arms that have a share.
func (v *Version) ChanceOf(at int, r *Row, arms int) (p float64, among int) {
	set, share := v.Masks.Among(at), 1.0
	if set != nil {
		share, arms = shareAmong(v.Mixture, set), 0
		for _, k := range set {
			if int(k) < len(v.Mixture) && v.Mixture[k] > 0 {
				arms++
			}
		}
	}
	if v.Contextual() {
		return v.Chance[at], arms
	}
	return v.Mixture[r.Slot()] / share, arms
}

// Context writes the encoded context of a row to x. It returns false if the row has none: its
// exposure was not reported, it was held back, or the version does not look at contexts.
func (v *Version) Context(row int, x []float64) bool { return v.contexts.get(row, x) }

// ContextTerms returns the coordinates of a row's context that are not 0, and their values. They
// are valid as long as the version is.
func (v *Version) ContextTerms(row int) (coordinates []uint32, values []float64) {
	begin, end := v.Begin[row], v.Begin[row]+v.Terms[row]
	return v.Coordinate[begin:end], v.Weight[begin:end]
}
