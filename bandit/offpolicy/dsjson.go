package offpolicy

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
)

// dsRow holds the members of a line of Vowpal Wabbit's dsjson that matter here.
type dsRow struct {
	Cost        *float64  `json:"_label_cost"`
	Probability *float64  `json:"_label_probability"`
	Action      *int      `json:"_label_Action"`
	Index       *int      `json:"_labelIndex"`
	Timestamp   string    `json:"Timestamp"`
	EventID     string    `json:"EventId"`
	Actions     []int     `json:"a"`
	P           []float64 `json:"p"`
	Drop        float64   `json:"pdrop"`
	SkipLearn   bool      `json:"_skipLearn"`
	Deferred    bool      `json:"_deferred"`
	// Outcomes are the labels of several slots.
	Outcomes json.RawMessage `json:"_outcomes"`
}

// NewDSJSON reads the decision logs of Vowpal Wabbit (--dsjson): one JSON object per line. The arm
// is _label_Action less 1, the propensity _label_probability, the reward −_label_cost; the arms
// "a", numbered from 1, have the probabilities "p". EventId and Timestamp are optional, all other
// members are ignored. Some lines are skipped and counted by [Reader.Skipped]: lines without a
// label, such as dangling outcomes; decisions that were deferred and not activated, with _skipLearn
// or, in older logs, _deferred; and lists, which some services write between the decisions. Lines
// may have different numbers of arms. Logs of several slots, with _outcomes, are refused.
//
// A log from which lines were dropped at random has the probability "pdrop" on each line. It
// cancels if it is the same on all lines; another is an error. Name stands for the input in errors.
func NewDSJSON(name string, in io.Reader) *Reader {
	d := &Reader{name: name}
	drop, first := 0.0, true
	d.lines(in, func(line []byte, r *Row) (bool, error) {
		if trimmed := bytes.TrimLeft(line, " \t"); len(trimmed) > 0 && trimmed[0] == '[' && json.Valid(line) {
			return false, nil
		}
		var j dsRow
		if err := json.Unmarshal(line, &j); err != nil {
			return false, d.bad("not a line of dsjson: %w", err)
		}
		if j.Outcomes != nil {
			return false, d.bad("_outcomes: a log of several slots; only one decision per line can be read")
		}
		if j.SkipLearn || j.Deferred || j.Cost == nil && j.Probability == nil && j.Action == nil {
			return false, nil
		}
		if first {
			drop, first = j.Drop, false
		}
		if j.Drop != drop {
			return false, d.bad("pdrop is %v after %v: it must be the same on all lines", j.Drop, drop)
		}
		return true, d.decision(&j, r)
	})
	return d
}

// probabilityTolerance is the difference allowed between the probability of the label and the same
// one in the list, which are decimals of float32.
const probabilityTolerance = 1e-5

// decision turns a line into a row.
func (d *Reader) decision(j *dsRow, r *Row) error {
	if j.Cost == nil || j.Probability == nil || j.Action == nil {
		return d.bad("a label needs _label_cost, _label_probability and _label_Action")
	}
	if j.Index != nil && *j.Index != *j.Action-1 {
		return d.bad("_labelIndex is %d and _label_Action %d: they must differ by 1", *j.Index, *j.Action)
	}
	at, err := d.time(j.Timestamp)
	if err != nil {
		return err
	}
	p, err := d.probabilities(j.Actions, j.P)
	if err != nil {
		return err
	}
	*r = Row{
		ID: j.EventID, Time: at, Arm: *j.Action - 1, Propensity: *j.Probability, Reward: 0 - *j.Cost, Propensities: p,
	}
	if r.Arm < 0 || r.Arm >= len(p) && p != nil {
		return d.bad("_label_Action %d is not one of the %d actions", *j.Action, len(p))
	}
	if p != nil && !(math.Abs(p[r.Arm]-r.Propensity) <= probabilityTolerance) {
		return d.bad("_label_probability is %v but p has %v for action %d", r.Propensity, p[r.Arm], *j.Action)
	}
	return nil
}

// probabilities puts the probabilities p of the actions, numbered from 1, in order.
func (d *Reader) probabilities(actions []int, p []float64) ([]float64, error) {
	if len(actions) != len(p) {
		return nil, d.bad("a has %d actions and p %d probabilities: as many are required", len(actions), len(p))
	}
	if len(p) == 0 {
		return nil, nil
	}
	out, seen := make([]float64, len(p)), make([]bool, len(p))
	for i, a := range actions {
		if a < 1 || a > len(p) || seen[a-1] {
			return nil, d.bad("a has the action %d: each of 1 to %d is required once", a, len(p))
		}
		out[a-1], seen[a-1] = p[i], true
	}
	return out, nil
}
