package join

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/noregret/noregret/policy"
)

// Units is the payload of an event of exposures or feedback.
type Units struct {
	Experiment string `json:"experiment"`
	Items      []Unit `json:"items"`
	// Rejected counts items that named this experiment by a token of the service, or by a decision
	// that a sender of the experiment made, and were refused before they became an event.
	Rejected int64 `json:"rejected,omitempty"`
}

// Unit has the contents of a verified token and the metrics reported for it.
type Unit struct {
	Version    uint64             `json:"v"`
	Arm        int                `json:"a"`
	Propensity float64            `json:"p"`
	Unit       string             `json:"u"` // the unit's hash, 16 hexadecimal digits
	Time       int64              `json:"t"` // of the decision, in milliseconds since 1970
	Metrics    map[string]float64 `json:"m,omitempty"`
	// Context is the unit's context, only in exposures of a contextual policy.
	Context json.RawMessage `json:"c,omitempty"`
	// Kept keeps the decision, only in exposures; nil otherwise. An item with the version 0 has
	// only a unit and metrics: it is about the kept decision of its unit.
	Kept *Kept `json:"k,omitempty"`
}

// UnitOf returns the item of a token.
func UnitOf(t policy.Token, metrics map[string]float64) Unit {
	return Unit{
		Version: t.Version, Arm: t.Arm, Propensity: t.Propensity, Unit: policy.FormatUnit(t.Unit),
		Time: t.Time.UnixMilli(), Metrics: metrics,
	}
}

// Hash returns the unit's hash, [policy.Hash]("unit", salt, unit).
func (e *Unit) Hash() (unit uint64, ok bool) { return policy.ParseUnit(e.Unit) }

// EncodeUnits returns the JSON that encoding/json writes, several times as fast. It reports false
// for what is not as simple as most events are: names beyond ASCII, contexts, kept decisions, and
// numbers that JSON does not have.
func EncodeUnits(p *Units) (b []byte, ok bool) {
	if !plain(p.Experiment) || p.Items == nil {
		return nil, false
	}
	b = make([]byte, 0, 64+len(p.Experiment)+128*len(p.Items))
	b = append(b, `{"experiment":"`...)
	b = append(b, p.Experiment...)
	b = append(b, `","items":[`...)
	for i := range p.Items {
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = appendUnit(b, &p.Items[i]); !ok {
			return nil, false
		}
	}
	b = append(b, ']')
	if p.Rejected != 0 {
		b = append(b, `,"rejected":`...)
		b = strconv.AppendInt(b, p.Rejected, 10)
	}
	return append(b, '}'), true
}

func appendUnit(b []byte, e *Unit) (_ []byte, ok bool) {
	if len(e.Context) > 0 || e.Kept != nil || !plain(e.Unit) {
		return b, false
	}
	b = append(b, `{"v":`...)
	b = strconv.AppendUint(b, e.Version, 10)
	b = append(b, `,"a":`...)
	b = strconv.AppendInt(b, int64(e.Arm), 10)
	b = append(b, `,"p":`...)
	if b, ok = appendNumber(b, e.Propensity); !ok {
		return b, false
	}
	b = append(b, `,"u":"`...)
	b = append(b, e.Unit...)
	b = append(b, `","t":`...)
	b = strconv.AppendInt(b, e.Time, 10)
	if len(e.Metrics) == 0 {
		return append(b, '}'), true
	}
	b = append(b, `,"m":{`...)
	var space [8]string
	for k, name := range e.names(space[:0]) {
		if !plain(name) {
			return b, false
		}
		if k > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, name...)
		b = append(b, `":`...)
		if b, ok = appendNumber(b, e.Metrics[name]); !ok {
			return b, false
		}
	}
	return append(b, "}}"...), true
}

// names appends the names of the unit's metrics, in their order.
func (e *Unit) names(out []string) []string {
	for name := range e.Metrics {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// plain reports whether a string needs no escapes in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendNumber appends a finite number as encoding/json writes it.
func appendNumber(b []byte, x float64) ([]byte, bool) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return b, false
	}
	if abs := math.Abs(x); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, x, 'f', -1, 64), true
	}
	b = strconv.AppendFloat(b, x, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' { // e-09 becomes e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b, true
}
