package classify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/strictjson"
)

// Merge joins the models of all shards after a pass of [FitShard]. Weights, thresholds, steps and
// sums of squares are averaged, each shard counted by its rows. Moments, class counts, predictions
// and rewards are added, and on their sums the measure's dual is solved again: SPADE's point
// (α, β), STAMP's level. The result is a model like any other, and [FitShard] starts the next pass
// from it. Shards of a pass that trained nothing ([ShardOptions]) give the model that they started
// from, with a calibration; no pass starts from that.
//
// The result does not depend on the order of the shards, bit for bit. Shards of another training
// (measure, options, feature space, pass), and shards whose rows overlap, are errors of code
// bad_input, and so is a share of an input that no shard has, unless the options allow it. That
// other inputs are missing, or that two of them have the same rows, cannot be seen. The features of
// CSV and JSON lines are joined by their names. O(shards × features).
func Merge(shards []*Model, opt MergeOptions) (*Model, error) {
	m, err := newMerging(shards)
	if err != nil {
		return nil, err
	}
	if m.missing = m.missingShares(); len(m.missing) > 0 && !opt.AllowMissing {
		return nil, noregret.BadInputf("", "%s; train these, or merge the others without their rows (--allow-missing)",
			m.missing[0])
	}
	if m.shards[0].Shard.Scores != nil {
		return m.calibrated()
	}
	return m.model()
}

// MergeOptions are the options of [Merge]. The zero value merges complete sets of shards only.
type MergeOptions struct {
	// AllowMissing merges the shards that are there. Their model has a warning that names the
	// others.
	AllowMissing bool
}

// merging is one run of [Merge].
type merging struct {
	shards []*Model // in their order
	schema *dataset.Schema
	place  []map[uint32]uint32 // of each shard's features; nil where they are the same
	labels []string
	rows   float64 // trained on
	train  Part
	part   Part // held out
	// missing says of each input which of its shares no shard has.
	missing []string
}

func newMerging(shards []*Model) (*merging, error) {
	m := &merging{shards: slices.Clone(shards)}
	if len(shards) == 0 {
		return nil, usage("there are no shards to merge")
	}
	for i, s := range shards {
		if s.Shard == nil {
			return nil, noregret.BadInputf(shardPlace(i), "not the model of a shard")
		}
		if s.Shard.Merged {
			return nil, noregret.BadInputf(shardPlace(i), "a merged model: want models of single shards")
		}
		if len(s.Shard.Parts) != 1 || s.Data.Train.Rows == 0 || s.Shard.Pass == 1 && s.Shard.Moments == nil {
			return nil, noregret.BadInputf(shardPlace(i), "%d parts, %d rows: want the state of one shard with rows",
				len(s.Shard.Parts), s.Data.Train.Rows)
		}
	}
	slices.SortStableFunc(m.shards, func(a, b *Model) int {
		x, y := a.Shard.Parts[0], b.Shard.Parts[0]
		return cmp.Or(cmp.Compare(x.Digest, y.Digest), cmp.Compare(x.Of, y.Of), cmp.Compare(x.Share, y.Share))
	})
	first := m.shards[0]
	for i, s := range m.shards {
		p := s.Shard.Parts[0]
		for _, other := range m.shards[:i] {
			if q := other.Shard.Parts[0]; p.Digest == q.Digest && p.share().Overlaps(q.share()) {
				return nil, noregret.BadInputf("", "the shares %v and %v of one input (%s) overlap: every row must be "+
					"in one shard only", q.share(), p.share(), p.Digest)
			}
		}
		a, b := fmt.Sprintf("shard %v", first.Shard.Parts[0].share()), fmt.Sprintf("shard %v", p.share())
		if err := sameTraining(first, s, a, b); err != nil {
			return nil, err
		}
		if s.Shard.Pass != first.Shard.Pass || s.Shard.Start != first.Shard.Start {
			return nil, noregret.BadInputf("",
				"%s is of pass %d and %s of pass %d, or they started from different models",
				a, first.Shard.Pass, b, s.Shard.Pass)
		}
		if !ofOnePass(s.Shard.Scores, first.Shard.Scores) {
			return nil, noregret.BadInputf("", "%s and %s differ in the scores for a calibration: run the same "+
				"pass on all shards", a, b)
		}
	}
	m.joinLabels()
	return m, m.joinFeatures()
}

// missingShares says of each input of which shares are missing which these are.
func (m *merging) missingShares() []string {
	var out []string
	for i := 0; i < len(m.shards); {
		digest := m.shards[i].Shard.Parts[0].Digest
		var shares []dataset.Share
		for ; i < len(m.shards) && m.shards[i].Shard.Parts[0].Digest == digest; i++ {
			shares = append(shares, m.shards[i].Shard.Parts[0].share())
		}
		if missing := dataset.MissingShares(shares); len(missing) > 0 {
			names := make([]string, len(missing))
			for k, s := range missing {
				names[k] = s.String()
			}
			most := min(len(names), 10)
			text := strings.Join(names[:most], ", ")
			if most < len(names) {
				text = fmt.Sprintf("%s and %d more", text, len(names)-most)
			}
			out = append(out, fmt.Sprintf("no shard has the rows %s of the input %s", text, digest))
		}
	}
	return out
}

func shardPlace(i int) string { return fmt.Sprintf("shard %d", i+1) }

// sameTraining returns an error unless two models have the same measure, algorithm, options,
// positive label and way of reading; a and b name them.
func sameTraining(x, y *Model, a, b string) error {
	differ := func(what string, x, y any) error {
		return noregret.BadInputf("", "%s of %s and %s differ: %v and %v", what, a, b, x, y)
	}
	switch {
	case x.Measure != y.Measure:
		return differ("the measures", x.Measure, y.Measure)
	case x.Algorithm != y.Algorithm:
		return differ("the algorithms", x.Algorithm, y.Algorithm)
	case x.Labels[0] != y.Labels[0]:
		return differ("the positive labels", x.Labels[0], y.Labels[0])
	}
	if p, q, err := texts(x.Options, y.Options); err != nil || p != q {
		p, q = firstDifference(p, q)
		return cmp.Or(err, differ("the options", p, q))
	}
	s, t := *x.Schema, *y.Schema
	s.Dim, s.Features, t.Dim, t.Features = 0, nil, 0, nil
	if s.Bits > 0 {
		s.Dim, t.Dim = x.Schema.Dim, y.Schema.Dim
	}
	p, q, err := texts(s, t)
	if err == nil && p != q {
		err = noregret.BadInputf("", "the ways to read %s of %s and %s differ: train all shards with "+
			"--schema-from and one model, which says how all are read", differences(&s, &t), a, b)
	}
	return err
}

// firstDifference returns the first member in which two JSON objects differ, as each has it.
func firstDifference(p, q string) (string, string) {
	var x, y map[string]json.RawMessage
	if json.Unmarshal([]byte(p), &x) != nil || json.Unmarshal([]byte(q), &y) != nil {
		return p, q
	}
	names := slices.Collect(maps.Keys(x))
	for name := range y {
		if _, ok := x[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, b := string(x[name]), string(y[name])
		if a == b {
			continue
		}
		if strings.HasPrefix(a, "{") && strings.HasPrefix(b, "{") {
			a, b = firstDifference(a, b)
			return name + "." + a, name + "." + b
		}
		return name + " " + cmp.Or(a, "none"), name + " " + cmp.Or(b, "none")
	}
	return p, q
}

// differences names what two ways to read have not in common: columns, if they differ.
func differences(s, t *dataset.Schema) string {
	var names []string
	for _, pair := range [][2]*dataset.Schema{{s, t}, {t, s}} {
		for _, c := range pair[0].Columns {
			i := slices.IndexFunc(pair[1].Columns, func(d dataset.Column) bool { return d.Name == c.Name })
			name := strconv.Quote(c.Name)
			if (i < 0 || !reflect.DeepEqual(c, pair[1].Columns[i])) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch {
	case len(names) == 1:
		return "the column " + names[0]
	case len(names) > 10:
		names = append(names[:10], fmt.Sprintf("%d more", len(names)-10))
	case len(names) == 0 && s.Format != t.Format:
		return fmt.Sprintf("the data, %s and %s,", s.Format, t.Format)
	case len(names) == 0:
		return "the data (order of columns, header, missing values, base of features, hash bits or key of labels)"
	}
	return "the columns " + strings.Join(names, ", ")
}

// texts returns two values as JSON.
func texts(x, y any) (string, string, error) {
	p, err := strictjson.Encode(x)
	q, err2 := strictjson.Encode(y)
	return string(p), string(q), cmp.Or(err, err2)
}

// joinLabels joins the labels and their counts.
func (m *merging) joinLabels() {
	m.labels = m.shards[0].Labels[:1:1]
	var others []string
	m.train, m.part = Classes{}.part(), Classes{}.part()
	for _, s := range m.shards {
		for _, l := range s.Labels[1:] {
			if !slices.Contains(others, l) {
				others = append(others, l)
			}
		}
		m.train.add(s.Data.Train)
		m.part.add(s.Data.Holdout)
	}
	slices.SortFunc(others, compareLabels)
	m.labels = append(m.labels, others...)
	m.rows = float64(m.train.Rows)
}

// add adds the counts of a part of other rows with the same labels.
func (p *Part) add(q Part) {
	p.Rows += q.Rows
	for i, l := range q.Labels {
		p.Labels[i].Rows += l.Rows
		p.Labels[i].Weight += l.Weight
	}
}

// joinFeatures makes the feature space of all shards.
func (m *merging) joinFeatures() error {
	joined := *m.shards[0].Schema
	m.place = make([]map[uint32]uint32, len(m.shards))
	number := map[string]uint32{}
	for i, f := range joined.Features {
		number[f] = uint32(i)
	}
	joined.Features = slices.Clone(joined.Features)
	for k, s := range m.shards {
		if joined.Features == nil {
			joined.Dim = max(joined.Dim, s.Schema.Dim)
			continue
		}
		m.place[k] = map[uint32]uint32{}
		for i, f := range s.Schema.Features {
			at, ok := number[f]
			if !ok {
				at = uint32(len(joined.Features))
				number[f] = at
				joined.Features = append(joined.Features, f)
			}
			m.place[k][uint32(i)] = at
		}
		joined.Dim = len(joined.Features)
	}
	m.schema = &joined
	return joined.Validate()
}

// at returns the place in the joined features of a feature of shard k.
func (m *merging) at(k int) func(uint32) uint32 {
	if p := m.place[k]; p != nil {
		return func(i uint32) uint32 { return p[i] }
	}
	return func(i uint32) uint32 { return i }
}

// mean returns the mean over the shards of sparse vectors, each counted by its rows.
func (m *merging) mean(of func(s *Model) SparseVector) []float64 {
	sum := make([]float64, m.schema.Dim)
	for k, s := range m.shards {
		at, v, share := m.at(k), of(s), float64(s.Data.Train.Rows)/m.rows
		for j, i := range v.Index {
			sum[at(i)] += float64(share * v.Value[j])
		}
	}
	return sum
}

// number returns the mean of a number over the shards.
func (m *merging) number(of func(s *Model) float64) float64 {
	sum := 0.0
	for _, s := range m.shards {
		sum += float64(float64(s.Data.Train.Rows) / m.rows * of(s))
	}
	return sum
}

// model returns the merged model.
func (m *merging) model() (*Model, error) {
	first := m.shards[0]
	out := &Model{
		Task: Binary, Measure: first.Measure, Algorithm: first.Algorithm, Labels: m.labels, Schema: m.schema,
		Options: first.Options, Data: m.data(), Warnings: append([]string{}, m.missing...),
	}
	for _, s := range m.shards {
		for _, w := range s.Warnings {
			if !slices.Contains(out.Warnings, w) {
				out.Warnings = append(out.Warnings, w)
			}
		}
	}
	var err error
	linear := ModelLinear{Intercept: m.number(func(s *Model) float64 { return s.Models[0].Intercept })}
	weights := m.mean(func(s *Model) SparseVector { return s.Models[0].Weights })
	if linear.Weights, err = sparseWeights(weights); err != nil {
		return nil, err
	}
	if err := m.scale(out); err != nil {
		return nil, err
	}
	two, err := measure.Parse(first.Measure)
	if err != nil {
		return nil, err
	}
	entry := HistoryEntry{
		Candidate: fmt.Sprintf("pass %d of %d shards", first.Shard.Pass, len(m.shards)),
		StepScale: first.Training.History[first.Training.Chosen].StepScale,
	}
	for _, s := range m.shards {
		entry.Examples += s.Training.History[s.Training.Chosen].Examples
	}
	linear.Threshold = m.number(func(s *Model) float64 { return s.Models[0].Threshold })
	entry.Threshold = linear.Threshold
	if out.Shard.Held != nil {
		held := *out.Shard.Held
		held.weighNegatives(m.negativeWeight())
		value := two.Value(held.Counts)
		entry.Holdout = finite(&value)
		if out.Shard.Apart {
			out.Figures = held.figures(two, sourceHeldOut, len(m.shards))
		}
	}
	if err := m.solve(out, two, entry.Holdout); err != nil {
		return nil, err
	}
	entry.Level = out.Shard.Level
	out.Models = []ModelLinear{linear}
	out.Training = ModelTraining{Passes: first.Training.Passes, Folds: 1, History: []HistoryEntry{entry}}
	return out, out.Validate()
}

// data joins the descriptions of the data. Each input is counted once for its bad lines.
func (m *merging) data() ModelData {
	d := ModelData{Train: m.train, Holdout: m.part}
	var digests []string
	for _, s := range m.shards {
		d.Rows += s.Data.Rows
		d.NonZeros += s.Data.NonZeros
		if digest := s.Shard.Parts[0].Digest; !slices.Contains(digests, digest) {
			digests = append(digests, digest)
			d.BadLines += s.Data.BadLines
		}
	}
	d.Digest = digests[0]
	if len(digests) > 1 {
		h := sha256.New()
		for _, digest := range digests {
			_, _ = fmt.Fprintln(h, digest) // a hash never fails
		}
		d.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	return d
}

func sum(a, b measure.Confusion) measure.Confusion {
	return measure.Confusion{TP: a.TP + b.TP, FN: a.FN + b.FN, TN: a.TN + b.TN, FP: a.FP + b.FP}
}

// scale makes the state of the merged model, but for the dual, and its scaling.
func (m *merging) scale(out *Model) error {
	first := m.shards[0].Shard
	s := &ModelShard{
		Merged: true, Apart: true, Pass: first.Pass, Start: first.Start,
		MeanSquare: first.MeanSquare, MeanWeight: first.MeanWeight,
		Steps:       m.number(func(s *Model) float64 { return s.Shard.Steps }),
		BiasSquares: m.number(func(s *Model) float64 { return s.Shard.BiasSquares }),
	}
	var err error
	if s.Squares, err = sparseWeights(m.mean(func(s *Model) SparseVector { return s.Shard.Squares })); err != nil {
		return err
	}
	all := new(moments)
	for k, x := range m.shards {
		s.Parts = append(s.Parts, x.Shard.Parts[0])
		s.Apart = s.Apart && x.Shard.Apart
		s.Counts = sum(s.Counts, x.Shard.Counts)
		if held := x.Shard.Held; held != nil {
			if s.Held == nil {
				s.Held = new(Outcomes)
			}
			s.Held.plus(*held)
		}
		s.Rewards.Positives += x.Shard.Rewards.Positives
		s.Rewards.Negatives += x.Shard.Rewards.Negatives
		if first.Pass == 1 {
			all.add(x.Shard.Moments, m.at(k))
		}
	}
	out.Shard, out.Scaling = s, m.shards[0].Scaling
	if first.Pass == 1 {
		config := Config{
			Dim: m.schema.Dim, BiasFeature: out.Options.Config.BiasFeature,
			NoIntercept: out.Options.Config.BiasFeature == 0,
		}
		if err := config.complete(all, m.schema.Dim, out.Options.Unscaled); err != nil {
			return err
		}
		out.Scaling = sparseScaling(config.Scaling, m.schema.Dim)
		if warning := m.unlike(all, out); warning != "" {
			out.Warnings = append(out.Warnings, warning)
		}
		s.MeanSquare, s.MeanWeight = config.MeanSquare, config.MeanWeight
	}
	return nil
}

// The rows of a shard are unlike those of all if their means are unlikeDistance standard deviations
// away, the root of the sum of squares over the features that count: those whose mean is unlikeMean
// standard deviations away, or whose share of rows in which they are not zero differs by the part
// unlikeShare of it, and more than chance explains. Chance explains what it does to a normal mean
// of any feature of any shard, but for the probability chanceAlarm.
//
// Of many features of which each row has one at random, the distance of a shard is 1 if it has half
// of them only. Small shifts of many features, as those of two days, do not add up. The rates of
// positives do not count: the values are of all rows together, and stay right where only these
// rates differ.
const unlikeDistance, unlikeMean, unlikeShare, chanceAlarm = 0.5, 0.25, 0.5, 1e-6

// moved is a feature of a shard whose mean is away from that of all, or whose share of rows in
// which it is not zero.
type moved struct {
	feature     uint32
	away        float64 // in standard deviations
	ofShare     bool
	part, ofAll float64 // the shares
}

func (m *moved) text(name string) string {
	if m.ofShare {
		return fmt.Sprintf("the share of rows with %s is %.2g, of all %.2g", name, m.part, m.ofAll)
	}
	return fmt.Sprintf("the mean of %s is %.2g standard deviations away", name, m.away)
}

// unlike names the shard whose means lie the furthest from those of all, if that is far, and its
// feature that lies the furthest; of equally far ones the first. The moments are those of all
// shards.
func (m *merging) unlike(all *moments, out *Model) string {
	limit := unlikeErrors(len(m.shards) * len(all.f))
	f := make([]featureMoments, len(all.f))
	furthest, shard, most, others := 0.0, 0, moved{}, 0
	for k, s := range m.shards {
		x, place := s.Shard.Moments, m.at(k)
		clear(f)
		for j, i := range x.Index {
			f[place(i)] = featureMoments{weight: x.Weight[j], mean: x.Mean[j], m2: x.M2[j]}
		}
		rows := float64(x.Rows)
		if x.Total != rows {
			rows /= 4 // rows with unequal weights count for fewer; for how many is not known
		}
		chance := limit / math.Sqrt(rows)
		squares, first, count := 0.0, moved{}, 0
		for i := range all.f {
			v := all.f[i].moved(all.total, &f[i], x.Total, chance)
			if v.away == 0 {
				continue
			}
			squares += float64(v.away * v.away)
			count++
			if v.away > first.away {
				first, first.feature = v, uint32(i)
			}
		}
		if d := math.Sqrt(squares); d >= unlikeDistance && d > furthest {
			furthest, shard, most, others = d, k, first, count-1
		}
	}
	if furthest == 0 {
		return ""
	}
	text := most.text(out.FeatureName(most.feature))
	if others > 0 {
		text += fmt.Sprintf(", and more features differ: %d", others)
	}
	p := m.shards[shard].Shard.Parts[0]
	return fmt.Sprintf("the rows of shard %v of %s are not like those of all: %s. Without a calibrating pass the "+
		"values are by the models of the shards and say little of the merged one: use noregret evaluate",
		p.share(), p.Digest, text)
}

// unlikeErrors is the number of standard errors that explain a mean and a share of each of n
// features of shards, but for the probability chanceAlarm: 6 of a few, 8 of ten million.
func unlikeErrors(n int) float64 { return math.Sqrt(2 * portable.Log(4*float64(n)/chanceAlarm)) }

// moved compares a feature of a shard with that of all, both over rows of a total weight. The
// furthest of share and mean counts, and none that is within chance; of a feature with one value,
// which has both alike, the share.
func (f *featureMoments) moved(total float64, s *featureMoments, shardTotal, chance float64) moved {
	var out moved
	share, part := f.weight/total, s.weight/shardTotal
	d := away(share, share*(1-share), part, part*(1-part), chance)
	if d >= unlikeMean || math.Abs(part-share) >= float64(unlikeShare*share) {
		out = moved{away: d, ofShare: true, part: part, ofAll: share}
	}
	mean, variance := f.spread(total)
	got, own := s.spread(shardTotal)
	d = away(mean, variance, got, own, chance)
	if d >= unlikeMean && d > 1.000001*out.away && math.Sqrt(variance) > minRelativeSpread*math.Abs(mean) {
		out = moved{away: d}
	}
	return out
}

// spread returns the mean and the variance over rows of a total weight.
func (f *featureMoments) spread(total float64) (mean, variance float64) {
	if f.weight == 0 {
		return 0, 0
	}
	zero := max(0, total-f.weight)
	return f.mean * f.weight / total, (f.m2 + float64(f.mean*f.mean*f.weight*zero)/total) / total
}

// away returns how many standard deviations of all rows lie between the mean of all and that of a
// shard, 0 if these are fewer than chance times the larger of the two deviations. The larger one
// counts, as a few rows with great values, in the shard or in the others, make a mean and its
// deviation great together.
func away(mean, variance, got, own, chance float64) float64 {
	d := math.Abs(got - mean)
	if variance > 0 && d > chance*math.Sqrt(max(variance, own)) {
		return d / math.Sqrt(variance)
	}
	return 0
}

// negativeWeight is the factor for the weights of negatives that gives the classes the ratio of the
// population.
func (m *merging) negativeWeight() float64 {
	if p := m.shards[0].Options.PriorPositives; p > 0 {
		return ((1 - p) / p) / (m.train.Labels[1].Weight / m.train.Labels[0].Weight)
	}
	return 1
}

// solve solves the dual of the measure on the merged rates: SPADE's point is that of the smallest
// αP + βN - Ψ*(α, β) for the mean rewards P and N, and STAMP's level the measure that was reached,
// held out if something was.
func (m *merging) solve(out *Model, two measure.Measure, held *float64) error {
	s, first := out.Shard, m.shards[0]
	counts := s.Counts
	if first.Shard.Dual != nil {
		concave, ok := two.(measure.Concave)
		if !ok {
			return noregret.BadInputf("shard.dual", "%s has no dual", first.Measure)
		}
		mean := DualPoint{
			Alpha: m.number(func(s *Model) float64 { return s.Shard.Dual.Alpha }),
			Beta:  m.number(func(s *Model) float64 { return s.Shard.Dual.Beta }),
		}
		p, n := s.Rewards.Positives/counts.Positives(), s.Rewards.Negatives/counts.Negatives()
		s.Dual = solveDual(concave, p, n, mean)
		return nil
	}
	if ratio, ok := two.(measure.Ratio); ok && out.Algorithm == "stamp" {
		theta := counts.Theta()
		if p := out.Options.PriorPositives; p > 0 {
			theta = (1 - p) / p
		}
		level := ratio.Coefficients(theta).Of(counts.Rates())
		if held != nil {
			level = *held
		}
		if math.IsNaN(level) {
			level = 0
		}
		level = min(max(level, 0), 1)
		s.Level = &level
	}
	return nil
}

// solveDual returns the dual point for the mean rewards p and n of the two classes. The minimum of
// min(P, N) is at a corner, from which a learner would train one class only: there the average of
// the shards' points is kept.
func solveDual(m measure.Concave, p, n float64, mean DualPoint) *DualPoint {
	const least = 1e-3 // rewards may be negative, where the optimal dual is at the border
	limit := math.Inf(1)
	if math.IsInf(m.DualRadius(), 1) {
		limit = 1 / math.Sqrt(least)
	}
	d := mean
	if _, corner := m.(measure.Min); !corner {
		d.Alpha, d.Beta = m.OptimalDual(max(p, least), max(n, least))
	}
	d.Alpha, d.Beta = m.Project(d.Alpha, d.Beta, limit)
	return &d
}
