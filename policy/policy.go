package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/strictjson"
)

// Status is the status of an experiment.
type Status string

// The statuses. A concluded experiment serves its last mixture for good: it learns nothing more and
// takes no changes. A paused experiment keeps deciding by its last mixture; units that arrive
// meanwhile are counted and checked against the guardrails, but not learned from. An experiment
// that is rolled back gives every unit the control arm.
const (
	Running    Status = "running"
	Paused     Status = "paused"
	RolledBack Status = "rolled_back"
	Concluded  Status = "concluded"
)

// Policy is one version of how an experiment decides: a pure function of the unit. It is immutable
// after [Policy.Prepare] and [Policy.Seal] and then safe for concurrent use. Its JSON form holds
// everything the function needs, so a client that has it decides as the server does
// (docs/formats/policy.md).
//
// Let U = [Hash]("unit", salt, unit), and draw(purpose) = random.Mix(U xor Hash(purpose, salt,
// "")), which is uniform for each purpose because U is:
//
//  1. A unit with draw("hold-back") below HoldBack gets the control arm, with propensity 1.
//  2. Any other unit gets the arm of draw(Stream) in the first link's split.
//  3. Each further link moves it by [Split.Move], with the coins draw("coin/V") and draw("move/V")
//     of the link's version V.
type Policy struct {
	Experiment string `json:"experiment"`
	Version    uint64 `json:"version"`
	Round      uint64 `json:"round"`
	State      Status `json:"state"`
	Salt       string `json:"salt"`
	Exposure   string `json:"exposure"`
	// Control is the index of the control arm, -1 without one.
	Control int   `json:"control"`
	Arms    []Arm `json:"arms"`
	// HoldBack is the share held back, in 2^-64ths.
	HoldBack uint64 `json:"hold_back,string"`
	// Stream is the purpose of the first draw: "arm", or "arm/R" where units are drawn anew in each
	// round R.
	Stream string `json:"stream"`
	Links  []Link `json:"links"`
	// Metrics are the metrics that can be reported, Window the longest time during which one of
	// them can be.
	Metrics []MetricForm `json:"metrics"`
	Window  Duration     `json:"attribution_window"`
	// Shortest is the shortest such time, after which an exposure no longer counts; it is absent if
	// it is Window.
	Shortest Duration `json:"exposure_window,omitempty"`
	// Linear decides for units with a context, see [Policy.DecideIn]; nil if the policy takes none.
	// The links then serve units without a context.
	Linear *Linear `json:"linear,omitempty"`
	// Digest is the SHA-256, in hexadecimal, of the JSON form with an empty digest; empty before
	// [Policy.Seal].
	Digest string `json:"digest"`

	holdKey, armKey uint64
	moves           []*linkMove // from each link to the next; policies of a stream share them
	names           map[string]int
}

// MetricForm describes a metric to a client that aggregates it.
type MetricForm struct {
	Name        string    `json:"name"`
	Kind        string    `json:"kind"`
	Numerator   string    `json:"numerator,omitempty"`
	Denominator string    `json:"denominator,omitempty"`
	Range       []float64 `json:"range,omitempty"`
	Cap         *float64  `json:"cap,omitempty"`
	Default     *float64  `json:"default,omitempty"`
}

// Count returns the value as it counts: capped if the metric has a cap.
func (m *MetricForm) Count(v float64) float64 {
	if m.Cap == nil {
		return v
	}
	return min(max(v, -*m.Cap), *m.Cap)
}

// Link is a split and the policy version that brought it.
type Link struct {
	Version uint64 `json:"version"`
	Split   *Split `json:"split"`
}

// ExposureWindow returns the time during which an exposure counts, from the decision on: the
// shortest window of a metric.
func (p *Policy) ExposureWindow() Duration {
	if p.Shortest > 0 {
		return p.Shortest
	}
	return p.Window
}

// linkMove is the move to a link, and the keys of its draws.
type linkMove struct {
	move
	coinKey, moveKey uint64
}

// Assignment is a policy's decision for a unit.
type Assignment struct {
	// Arm is the arm's index, Name and Value are its name and value.
	Arm   int
	Name  string
	Value json.RawMessage
	// Propensity is the exact probability of the arm, to within 2^-40.
	Propensity float64
	// Version is the policy's.
	Version uint64
	// Unit is Hash("unit", salt, unit).
	Unit uint64
	// HeldBack is whether the unit is held back.
	HeldBack bool
}

// draw is the uniform number of a purpose for a unit.
func draw(unit, key uint64) uint64 { return random.Mix(unit ^ key) }

// Prepare computes what deciding needs, in O(arms·links). It returns an error if the policy cannot
// decide. Previous is a prepared policy of the same experiment, or nil: moves between links that
// both have are shared with it.
func (p *Policy) Prepare(previous *Policy) error {
	if len(p.Links) == 0 || len(p.Arms) == 0 || p.Control < -1 || p.Control >= len(p.Arms) || p.HoldBack > 0 &&
		p.Control < 0 {
		return noregret.BadInputf("policy", "%d links, %d arms, control %d: no decision is possible", len(p.Links),
			len(p.Arms), p.Control)
	}
	if p.Linear != nil {
		if err := p.Linear.Prepare(len(p.Arms)); err != nil {
			return err
		}
	}
	p.holdKey, p.armKey = Hash("hold-back", p.Salt, ""), Hash(p.Stream, p.Salt, "")
	p.moves = make([]*linkMove, 0, len(p.Links)-1)
	for i, l := range p.Links {
		if l.Split == nil || l.Split.Len() != len(p.Arms) {
			return noregret.BadInputf("policy", "link %d does not split among %d arms", i, len(p.Arms))
		}
		if i > 0 && previous != nil && i < len(previous.Links) && previous.Links[i-1] == p.Links[i-1] &&
			previous.Links[i] == l {
			p.moves = append(p.moves, previous.moves[i-1])
		} else if i > 0 {
			v := strconv.FormatUint(l.Version, 10)
			p.moves = append(p.moves, &linkMove{
				newMove(p.Links[i-1].Split, l.Split), Hash("coin/"+v, p.Salt, ""),
				Hash("move/"+v, p.Salt, ""),
			})
		}
	}
	p.names = make(map[string]int, len(p.Arms))
	for k, a := range p.Arms {
		p.names[a.Name] = k
	}
	return nil
}

// Unit returns the hash that identifies a unit: Hash("unit", salt, unit).
func (p *Policy) Unit(unit string) uint64 { return Hash("unit", p.Salt, unit) }

// HeldBack reports whether the unit with the given hash is held back.
func (p *Policy) HeldBack(unit uint64) bool { return p.HeldBackBy(p.HoldBack, unit) }

// HeldBackBy reports whether a version of the same experiment that holds back the given share, in
// 2^-64ths, holds back the unit with the given hash.
func (p *Policy) HeldBackBy(share, unit uint64) bool { return draw(unit, p.holdKey) < share }

// Decide returns the arm of a unit.
func (p *Policy) Decide(unit string) Assignment { return p.DecideHash(p.Unit(unit)) }

// DecideHash returns the arm of the unit with the given hash, in O(log arms) for the first link and
// for each that moves the unit, and a few nanoseconds for each that does not.
func (p *Policy) DecideHash(unit uint64) Assignment {
	d := Assignment{Version: p.Version, Unit: unit}
	if p.HeldBack(unit) {
		d.Arm, d.Propensity, d.HeldBack = p.Control, 1, true
	} else {
		d.Arm = p.Links[0].Split.Arm(draw(unit, p.armKey))
		for i := range p.moves {
			if m := p.moves[i]; !m.keeps(d.Arm, draw(unit, m.coinKey)) {
				d.Arm = m.to(draw(unit, m.moveKey))
			}
		}
		d.Propensity = p.split().Propensity(d.Arm)
	}
	d.Name, d.Value = p.Arms[d.Arm].Name, p.Arms[d.Arm].Value
	return d
}

// split returns the split in force, that of the last link.
func (p *Policy) split() *Split { return p.Links[len(p.Links)-1].Split }

// Mixture returns the exact probability of each arm among units that are not held back.
func (p *Policy) Mixture() []float64 { return p.split().Shares() }

// ArmNamed returns the index of the arm with the given name, or -1.
func (p *Policy) ArmNamed(name string) int {
	if k, ok := p.names[name]; ok {
		return k
	}
	return -1
}

// Seal computes the digest and returns the JSON form that a service publishes: the bytes that the
// digest covers, with the digest filled in. The policies of an experiment's state are not sealed;
// the publisher seals a policy before it shares it. Seal costs about half a microsecond for each
// arm of each link.
func (p *Policy) Seal() ([]byte, error) {
	const end = `""}` // the digest is the last field
	p.Digest = ""
	b, err := strictjson.Encode(p)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	p.Digest = hex.EncodeToString(sum[:])
	return append(b[:len(b)-len(end)], `"`+p.Digest+`"}`...), nil
}

// maxPolicy is the greatest size of a policy's JSON form.
const maxPolicy = 64 << 20

// Parse reads a policy's JSON form, checks its digest and prepares it.
func Parse(data []byte) (*Policy, error) {
	if len(data) > maxPolicy {
		return nil, noregret.BadInputf("policy", "%d bytes: want at most %d", len(data), maxPolicy)
	}
	var p Policy
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, noregret.BadInputf("policy", "cannot be read: %w", err)
	}
	want := p.Digest
	if _, err := p.Seal(); err != nil {
		return nil, err
	}
	if p.Digest != want {
		return nil, noregret.BadInputf("policy",
			"digest %.12s…, want %.12s…: the content is not what the server sent",
			p.Digest, want)
	}
	return &p, p.Prepare(nil)
}

// FormatUnit formats a unit's hash as in events and answers: 16 hexadecimal digits.
func FormatUnit(u uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], u)
	return hex.EncodeToString(b[:])
}

// hexDigits are the values of hexadecimal digits, and -1 for all other bytes.
var hexDigits = func() (values [256]int8) {
	for c := range values {
		v, err := strconv.ParseUint(string([]byte{byte(c)}), 16, 4)
		if values[c] = int8(v); err != nil {
			values[c] = -1
		}
	}
	return values
}()

// ParseUnit reads what [FormatUnit] writes.
func ParseUnit(s string) (unit uint64, ok bool) {
	if len(s) != 16 {
		return 0, false
	}
	for i := range len(s) {
		d := hexDigits[s[i]]
		if d < 0 {
			return 0, false
		}
		unit = unit<<4 | uint64(d)
	}
	return unit, true
}
