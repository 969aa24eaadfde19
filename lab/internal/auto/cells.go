package auto

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/lab/internal/study"
)

// trial says what is trained: an algorithm for a measure on a split of a set, counted from 0.
type trial struct {
	set, measure, algorithm string
	split                   int
}

// outcome is the result of a trial.
type outcome struct {
	Set       string `json:"set"`
	Measure   string `json:"measure"`
	Algorithm string `json:"algorithm"`
	Split     int    `json:"split"`
	// Value is the measure on the other rows, nil where it is undefined.
	Value   *float64 `json:"value"`
	Seconds float64  `json:"seconds"`
}

// outcomes are the results so far. They are kept in a file if path is not empty.
type outcomes struct {
	path  string
	share float64
	list  []outcome
	at    map[trial]int
}

// kept is the form of the file.
type kept struct {
	Share    float64   `json:"train_share"`
	Outcomes []outcome `json:"outcomes"`
}

// readOutcomes reads the file at path, which need not exist yet. Results of the algorithms to
// forget are dropped.
func readOutcomes(path string, share float64, forget []string) (*outcomes, error) {
	o := &outcomes{path: path, share: share, at: map[trial]int{}}
	if path == "" {
		return o, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	} else if err != nil {
		return nil, err
	}
	var k kept
	if err := strictjson.Decode(raw, &k, strictjson.Rules{}); err != nil {
		return nil, noregret.BadInputf(path, "%w", err)
	}
	if k.Share != share {
		return nil, noregret.BadInputf(path, "the share of the rows that are trained on is %v, want %v", k.Share, share)
	}
	for _, x := range k.Outcomes {
		if t := (trial{x.Set, x.Measure, x.Algorithm, x.Split}); !slices.Contains(forget, x.Algorithm) && !o.has(t) {
			o.at[t] = len(o.list)
			o.list = append(o.list, x)
		}
	}
	return o, nil
}

// add adds a result.
func (o *outcomes) add(t trial, value, seconds float64) {
	x := outcome{Set: t.set, Measure: t.measure, Algorithm: t.algorithm, Split: t.split, Seconds: seconds}
	if value == value {
		x.Value = &value
	}
	o.at[t] = len(o.list)
	o.list = append(o.list, x)
}

// has reports whether there is a result.
func (o *outcomes) has(t trial) bool {
	_, ok := o.at[t]
	return ok
}

// save replaces the file.
func (o *outcomes) save() error {
	if o.path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(kept{o.share, o.list}, "", " ")
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(o.path, append(raw, '\n'))
}

// summary is what an algorithm reaches for a measure on the splits of a set.
type summary struct {
	algorithm             string
	splits                int
	mean, spread, seconds float64
}

// of summarizes the results on the first splits; ok says whether there is one on each.
func (o *outcomes) of(set, measure, algorithm string, splits int) (s summary, ok bool) {
	var values []float64
	s.algorithm, s.splits = algorithm, splits
	for k := range splits {
		i, ok := o.at[trial{set, measure, algorithm, k}]
		if !ok {
			return s, false
		}
		v := math.NaN()
		if x := &o.list[i]; x.Value != nil {
			v = *x.Value
		}
		values = append(values, v)
		s.seconds += o.list[i].Seconds / float64(splits)
	}
	s.mean, s.spread = study.Spread(values)
	return s, true
}
