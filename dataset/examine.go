package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// FindingKind is what [Examine] found.
type FindingKind string

// The kinds of findings.
const (
	Constant  FindingKind = "constant"   // the same value in every row
	IDLike    FindingKind = "id-like"    // a new number in every row, or that of the row
	Leaking   FindingKind = "leaking"    // tells the label of nearly every row alone
	Duplicate FindingKind = "duplicate"  // equal to another one in every row
	Mixed     FindingKind = "mixed"      // numbers or dates with other values among them
	Ambiguous FindingKind = "ambiguous"  // numbers or dates that may be read in two ways
	SameName  FindingKind = "same-name"  // two columns have one name
	Narrow    FindingKind = "narrow"     // numbers that float32 cannot tell apart
	Shift     FindingKind = "shift"      // distributed otherwise in the test data
	NewValues FindingKind = "new-values" // the test data have values that training lacks
	OneLabel  FindingKind = "one-label"  // every row has the same label, or none has one
)

// Finding is something in a data set that is probably not meant.
type Finding struct {
	Kind    FindingKind `json:"kind"`
	Column  string      `json:"column"` // of CSV or JSON lines, or the feature's name or number; "" for the label
	Message string      `json:"message"`
}

// Limits of what Examine looks at, which bound its memory: some 2 kB for each feature in detail.
const (
	examinedFeatures = 4096
	examinedClasses  = 64
	examineBins      = 32
	examinedSample   = 1024 // rows by whose values the bins of equal shares of the rows are made
	examineLevel     = .001 // of the tests of shift, divided by the number of features or labels
	leakShare        = .98  // of the rows that the most frequent label does not explain
	leakOrder        = .99  // AUC of the values of two labels
	leakRows         = 10   // so many rows at least must not have the most frequent label
	shiftDistance    = .1   // least distance of two distribution functions that is reported
	fewestRows       = 50
)

// featureFacts is what Examine knows of a feature.
type featureFacts struct {
	rows       int64 // with a value that is not 0
	low, high  float64
	last       float64
	up, down   bool // the values ascend, descend with the rows
	whole      bool // the values are whole numbers
	id         bool // see isID
	center     float64
	hash       uint64
	kinds      *sketch
	byClass    []int64 // rows with a value that is not 0, by class; the last is of those without
	bins, test []int64 // bins of equal width, class by class; bins of the test data
	sample     []float64
	cuts       []float64 // bounds of the bins of equal shares, ascending
	// rows by these bins, one more than cuts, class by class; of the test data
	ranks, testRanks []int64
}

// examiner holds the facts of a set.
type examiner struct {
	info    Info
	classes int
	slots   []uint32 // the features that are looked at, ascending; nil for the first ones
	more    bool     // there are others
	facts   []featureFacts
	column  []string // of each feature
	skipped []string
	group   []bool // the feature is a value of a categorical column
	word    []bool // the feature is a word of a text
}

// Examine looks for columns that cannot help or help too much: constant, numbered, telling the
// label or equal to others. With test, which must have the schema of train, it also looks for
// columns that are distributed otherwise there, by the distance of the distribution functions at
// the bounds of 32 equal parts of the values and of the rows, smaller at both ends and with parts
// of their own for values that repeat (Kolmogorov and Smirnov, at the level .001 divided by the
// number of features, and at least .1), and for labels whose shares differ, by the normal test of
// two shares at the level .001 divided by the number of labels. It makes two passes over train and
// one over test, in the order of the rows, and looks at the first 4,096 features and sets of at
// most 64 labels in detail. Features that have only numbers, of svmlight, VW and hashing, are there
// if a row has them; a pass before the others finds these. Findings come in the order of the kinds,
// then of the features. skipped has a sentence on each check that was left out and why.
func Examine(train, test *Set) (found []Finding, skipped []string, err error) {
	e := &examiner{info: train.Info()}
	if err := e.start(train); err != nil {
		return nil, nil, err
	}
	if err := e.pass(train, e.first); err != nil {
		return nil, nil, err
	}
	for i := range e.facts {
		if f := &e.facts[i]; !e.group[i] && f.low < f.high {
			slices.Sort(f.sample)
			f.id = f.isID(e.info.Rows)
			f.bins = make([]int64, examineBins*(e.classes+1))
			f.cut(e.classes + 1)
		}
	}
	if err := e.pass(train, e.second); err != nil {
		return nil, nil, err
	}
	found = slices.Concat(e.labels(), e.constants(), e.ids(), e.leaks(), e.duplicates())
	if test != nil {
		for i := range e.facts {
			f := &e.facts[i]
			f.test, f.testRanks = make([]int64, examineBins), make([]int64, len(f.cuts)+1)
		}
		if err := e.pass(test, e.third); err != nil {
			return nil, nil, err
		}
		found = append(found, e.shifts(test.Info())...)
	}
	return found, e.skipped, nil
}

// skip says that a check was left out.
func (e *examiner) skip(format string, args ...any) {
	e.skipped = append(e.skipped, fmt.Sprintf(format, args...))
}

// labels finds sets from which no classifier learns.
func (e *examiner) labels() []Finding {
	switch {
	case e.info.Rows == e.info.NoLabel:
		return []Finding{{OneLabel, "", "no row has a label"}}
	case len(e.info.Labels) == 1:
		return []Finding{{OneLabel, "", fmt.Sprintf("every row has the label %q, and training needs two",
			e.info.Labels[0].Name)}}
	}
	return nil
}

// start chooses the features that are looked at.
func (e *examiner) start(set *Set) (err error) {
	info := e.info
	n := min(info.Dim, examinedFeatures)
	e.more = info.Dim > n
	if info.Schema.Bits > 0 || info.Schema.Format == SVMLight {
		if e.slots, e.more, err = occurring(set, examinedFeatures); err != nil {
			return err
		}
		n = len(e.slots)
	}
	e.classes, e.facts = min(len(info.Labels), examinedClasses), make([]featureFacts, n)
	e.column, e.group, e.word = make([]string, n), make([]bool, n), make([]bool, n)
	columns := map[string]Column{}
	for _, c := range info.Schema.Columns {
		columns[c.Name] = c
	}
	for i := range n {
		e.facts[i] = featureFacts{up: true, down: true, whole: true, byClass: make([]int64, e.classes+1)}
		slot := i
		if e.slots != nil {
			slot = int(e.slots[i])
		}
		name := info.Schema.featureName(uint32(slot))
		e.column[i] = name
		e.facts[i].center = columns[name].Center
		column, _, valued := strings.Cut(name, "=")
		c, known := columns[column]
		if e.group[i] = valued && (c.Kind == Categorical || !known && info.Schema.Format == JSONL); e.group[i] {
			e.column[i] = column
		}
		if k := strings.LastIndexByte(name, '#'); k >= 0 {
			e.word[i] = columns[name[:k]].Kind == Text
		}
	}
	return nil
}

// occurring returns the first features that some row has, ascending, at most so many, and whether
// there are more. It keeps twice as many at most.
func occurring(set *Set, most int) (slots []uint32, more bool, err error) {
	seen, last := map[uint32]bool{}, uint32(math.MaxUint32)
	err = eachBlock(set, func(b *Block) {
		for _, x := range b.Index {
			if x > last {
				more = true
				continue
			}
			if seen[x] = true; len(seen) > 2*most {
				slots = slices.Sorted(maps.Keys(seen))
				for _, x := range slots[most:] {
					delete(seen, x)
				}
				last, more = slots[most-1], true
			}
		}
	})
	slots = slices.AppendSeq([]uint32{}, maps.Keys(seen))
	slices.Sort(slots)
	return slots[:min(most, len(slots))], more || len(slots) > most, err
}

// eachBlock calls f for the blocks of a set in order.
func eachBlock(set *Set, f func(b *Block)) error {
	r, err := set.Read()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	var b Block
	for {
		if err := r.Next(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		f(&b)
	}
}

// pass calls row for all rows of a set, with all values of the features that are looked at.
func (e *examiner) pass(set *Set, row func(number int64, class int, values []float64)) error {
	values := make([]float64, len(e.facts))
	at := map[uint32]int{}
	for i, slot := range e.slots {
		at[slot] = i
	}
	return eachBlock(set, func(b *Block) {
		for i := range b.Len() {
			clear(values)
			index, value := b.Row(i)
			for k, x := range index {
				place, found := int(x), int(x) < len(values)
				if e.slots != nil {
					place, found = at[x]
				}
				if found {
					values[place] = float64(value[k])
				}
			}
			row(b.FirstRow+int64(i), min(int(b.Class[i]), e.classes), values)
		}
	})
}

// first finds ranges, orders, counts and hashes.
func (e *examiner) first(number int64, class int, values []float64) {
	share := float64(examinedSample) / float64(e.info.Rows)
	sampled := float64(random.Mix(uint64(number))>>11)*0x1p-53 < share
	for i, v := range values {
		f := &e.facts[i]
		if sampled && !e.group[i] {
			f.sample = append(f.sample, v)
		}
		if v != 0 {
			f.rows++
			f.byClass[class]++
			f.hash += random.Mix(random.Mix(uint64(number)) ^ math.Float64bits(v))
		}
		if number == 0 {
			f.low, f.high, f.last = v, v, v
		} else {
			f.up, f.down = f.up && v > f.last, f.down && v < f.last
			f.low, f.high, f.last = min(f.low, v), max(f.high, v), v
		}
		if f.whole = f.whole && v == math.Trunc(v); f.whole && !e.group[i] {
			if f.kinds == nil {
				f.kinds = new(sketch)
			}
			f.kinds.add(hashBytes(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))))
		}
	}
}

// bin returns the bin of a value.
func (f *featureFacts) bin(v float64) int {
	if !(f.high > f.low) {
		return 0
	}
	return max(0, min(examineBins-1, int(examineBins*((v-f.low)/(f.high-f.low)))))
}

// second counts the bins of the columns of numbers.
func (e *examiner) second(_ int64, class int, values []float64) {
	for i, v := range values {
		if f := &e.facts[i]; f.bins != nil {
			f.bins[class*examineBins+f.bin(v)]++
			f.ranks[class*(len(f.cuts)+1)+f.rank(v)]++
		}
	}
}

// third counts the bins of the test data, for values of categories those of 0 and 1.
func (e *examiner) third(_ int64, _ int, values []float64) {
	for i, v := range values {
		f := &e.facts[i]
		if f.test[f.bin(v)]++; f.cuts != nil {
			f.testRanks[f.rank(v)]++
		}
	}
}

// constants finds columns of one number, and categorical ones that have one value in every row.
func (e *examiner) constants() (out []Finding) {
	for i, f := range e.facts {
		var value string
		switch {
		case f.low != f.high || e.info.Rows < 2 || e.word[i]:
			continue
		case e.group[i] && f.low != 0:
			value = strconv.Quote(strings.TrimPrefix(e.name(i), e.column[i]+"="))
		case e.group[i] || strings.Contains(e.column[i], "="):
			continue
		default:
			value = fmt.Sprint(f.low)
		}
		out = append(out, Finding{Constant, e.column[i], "every row has the value " + value})
	}
	return out
}

func (e *examiner) ids() (out []Finding) {
	if e.info.Rows < fewestRows {
		e.skip("id-like: %d rows are fewer than %d, in which new values are no sign", e.info.Rows, fewestRows)
	}
	switch {
	case e.more && e.slots != nil:
		e.skip("all: only the first %d features that occur were looked at", examinedFeatures)
	case e.more:
		e.skip("all: only the first %d of %d features were looked at", examinedFeatures, e.info.Dim)
	}
	for i, f := range e.facts {
		switch {
		case e.group[i] || e.word[i] || e.info.Rows < fewestRows || !f.whole || f.low == f.high:
		case f.up, f.down:
			out = append(out, Finding{IDLike, e.column[i], "whole numbers that follow the order of the rows"})
		case f.id:
			out = append(out, Finding{IDLike, e.column[i], "a new whole number in nearly every row"})
		}
	}
	return out
}

// leaks finds columns by which the most frequent label of each value, or of each bin, is nearly
// always right, and columns of numbers whose order tells a label from the others.
func (e *examiner) leaks() (out []Finding) {
	base := int64(0)
	for _, l := range e.info.Labels {
		base = max(base, l.Rows)
	}
	rest := e.info.Rows - base
	switch {
	case e.info.Rows < fewestRows:
		e.skip("leaking: %d rows are fewer than %d", e.info.Rows, fewestRows)
		return nil
	case rest < leakRows:
		e.skip("leaking: %d rows have another label than the most frequent one, fewer than %d", rest, leakRows)
		return nil
	case len(e.info.Labels) > examinedClasses:
		e.skip("leaking: %d labels are more than %d", len(e.info.Labels), examinedClasses)
		return nil
	}
	var many []string // columns of too many values for the rows
	report := func(column string, right int64) {
		if share := float64(right-base) / float64(rest); share >= leakShare {
			out = append(out, Finding{Leaking, column, fmt.Sprintf("it tells the label of %d of %d rows alone", right,
				e.info.Rows)})
		}
	}
	right, values, done := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for i, f := range e.facts {
		if e.group[i] {
			right[e.column[i]] += slices.Max(f.byClass)
			values[e.column[i]]++
		}
	}
	for i, f := range e.facts {
		column := e.column[i]
		switch {
		case e.group[i] && !done[column] && 20*values[column] <= e.info.Rows:
			done[column] = true
			report(column, right[column])
		case e.group[i] && !done[column]:
			done[column] = true
			many = append(many, column)
		case f.bins != nil:
			sum, used := int64(0), int64(0)
			for k := range examineBins {
				most := int64(0)
				for c := range e.classes + 1 {
					most = max(most, f.bins[c*examineBins+k])
				}
				if sum += most; most > 0 {
					used++
				}
			}
			if 20*used > e.info.Rows {
				many = append(many, column)
				continue
			}
			before := len(out)
			if report(column, sum); len(out) == before {
				out = append(out, e.ordered(i)...)
			}
		}
	}
	if len(many) > 0 {
		e.skip("leaking: %d columns (%q the first) have too many different values for %d rows: want 20 rows each",
			len(many), many[0], e.info.Rows)
	}
	return out
}

func (e *examiner) duplicates() (out []Finding) {
	type key struct {
		hash uint64
		rows int64
	}
	first := map[key]int{}
	for i, f := range e.facts {
		if f.rows == 0 || f.low == f.high || e.word[i] {
			continue // rare words of a text that occur together are no columns
		}
		if j, ok := first[key{f.hash, f.rows}]; ok {
			out = append(out, Finding{Duplicate, e.name(i), fmt.Sprintf("equal to %q in every row", e.name(j))})
			continue
		}
		first[key{f.hash, f.rows}] = i
	}
	return out
}

// name returns the name of a feature.
func (e *examiner) name(i int) string {
	if i < len(e.info.Schema.Features) {
		return e.info.Schema.Features[i]
	}
	return e.column[i]
}

func (e *examiner) shifts(test Info) (out []Finding) {
	n, m := float64(e.info.Rows), float64(test.Rows)
	if n == 0 || m == 0 {
		e.skip("shift: there are no rows to compare")
		return nil
	}
	// Kolmogorov's tail 2·exp(-2·x²) is the level divided by the number of features at this x.
	level := math.Sqrt(math.Log(2/examineLevel*float64(max(1, len(e.facts))))/2) * math.Sqrt((n+m)/(n*m))
	for i, f := range e.facts {
		distance := 0.0
		if f.bins == nil {
			distance = math.Abs(float64(f.rows)/n - (m-float64(f.test[f.bin(0)]))/m)
			if f.low == f.high {
				distance = 0
			}
		}
		a, b := int64(0), int64(0)
		for k := range f.bins[:min(len(f.bins), examineBins)] {
			for c := range e.classes + 1 {
				a += f.bins[c*examineBins+k]
			}
			b += f.test[k]
			distance = max(distance, math.Abs(float64(a)/n-float64(b)/m))
		}
		a, b = 0, 0
		for k := range f.testRanks {
			for c := range e.classes + 1 {
				if f.ranks != nil {
					a += f.ranks[c*len(f.testRanks)+k]
				}
			}
			b += f.testRanks[k]
			distance = max(distance, math.Abs(float64(a)/n-float64(b)/m))
		}
		if distance >= max(level, shiftDistance) {
			out = append(out, Finding{Shift, e.name(i), fmt.Sprintf("the distributions of training and test data are "+
				"%.2f apart", distance)})
		}
	}
	if level >= 1 {
		e.skip("shift: %.0f and %.0f rows are too few to show one of a column", n, m)
	}
	labelled, tested := n-float64(e.info.NoLabel), m-float64(test.NoLabel)
	if labelled == 0 || tested == 0 {
		e.skip("shift of the labels: one of the sets has none")
		return append(out, e.newValues(test)...)
	}
	far := stat.NormalAbove(examineLevel / 2 / float64(len(e.info.Labels)))
	for _, l := range e.info.Labels {
		rows := int64(0)
		for _, t := range test.Labels {
			if t.Name == l.Name {
				rows = t.Rows
			}
		}
		p, q := float64(l.Rows)/labelled, float64(rows)/tested
		both := float64(l.Rows+rows) / (labelled + tested)
		if z := (p - q) / math.Sqrt(both*(1-both)*(1/labelled+1/tested)); math.Abs(z) >= far {
			out = append(out, Finding{Shift, "", fmt.Sprintf("the label %q has the share %.3f in training, %.3f in "+
				"the test data", l.Name, p, q)})
		}
	}
	return append(out, e.newValues(test)...)
}

// newValues names the first columns of what the test data have and training lacks.
func (e *examiner) newValues(test Info) (out []Finding) {
	for i, c := range test.IgnoredColumns {
		message := "values that do not occur in training"
		switch {
		case c.Missing:
			message = "missing values, of which training has none"
		case c.Value != "":
			message += fmt.Sprintf(", such as %q", c.Value)
		}
		if i == 0 {
			message += fmt.Sprintf("; there are %d such values in all columns", test.IgnoredFeatures)
		}
		out = append(out, Finding{NewValues, c.Name, message})
	}
	return out
}
