package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/policy"
)

// entry is an experiment in the table.
type entry struct {
	policy *policy.Policy
	text   []byte // of the policy, as its digest says
	counts *counters
	names  [][]byte // of the arms, as JSON strings
	// largest is the size of the largest value of an arm.
	largest int
}

// newEntry seals a policy, which nobody else may have yet.
func newEntry(p *policy.Policy, c *counters) (*entry, error) {
	text, err := p.Seal()
	if err != nil {
		return nil, err
	}
	e := &entry{policy: p, text: text, counts: c, largest: 1}
	for _, a := range p.Arms {
		e.names = append(e.names, appendString(nil, a.Name))
		e.largest = max(e.largest, len(a.Value))
	}
	return e, nil
}

// appendString appends a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			text, err := json.Marshal(s)
			if err != nil {
				return append(b, `""`...) // strings are always written
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// buffers are the answers being written.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// decide answers with an arm for each unit. It takes no lock, writes nothing and asks nobody,
// unless the experiment counts exposures immediately.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Units []string `json:"units"`
	}
	if err := readJSON(r, &in); err != nil {
		return err
	}
	name := r.PathValue("name")
	e := s.table.Load().entries[name]
	if e == nil {
		return noSuch(name)
	}
	if err := s.checkCount("units", len(in.Units)); err != nil {
		return err
	}
	if most := max(s.config.MaxAnswer/e.largest, 1); len(in.Units) > most {
		return withStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, "units",
			"%d units of values of up to %d bytes each: want at most %d", len(in.Units), e.largest, most)
	}
	for i, u := range in.Units {
		if err := policy.CheckUnit("units["+strconv.Itoa(i)+"]", u); err != nil {
			return err
		}
	}
	buffer := buffers.Get().(*[]byte)
	b := append((*buffer)[:0], `{"decisions":[`...)
	defer func() {
		if cap(b) < 1<<20 {
			*buffer = b
			buffers.Put(buffer)
		}
	}()
	now := s.config.Now()
	var exposed []experiment.UnitEvent
	for i, u := range in.Units {
		d := e.policy.Decide(u)
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"unit":`...)
		b = appendString(b, u)
		b = append(b, `,"arm":`...)
		b = append(b, e.names[d.Arm]...)
		b = append(b, `,"value":`...)
		b = append(b, d.Value...)
		b = append(b, `,"propensity":`...)
		b = strconv.AppendFloat(b, d.Propensity, 'g', -1, 64)
		b = append(b, `,"version":`...)
		b = strconv.AppendUint(b, d.Version, 10)
		b = append(b, `,"token":"`...)
		t := policy.Token{
			Experiment: name, Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: now,
		}
		var err error
		if b, err = s.signer.Append(b, t); err != nil {
			return err
		}
		b = append(b, `"}`...)
		if e.policy.Exposure == "immediate" {
			exposed = append(exposed, experiment.UnitOf(t, nil))
		}
	}
	b = append(b, "]}\n"...)
	if len(exposed) > 0 {
		if err := s.exposeNow(r, experiment.UnitsEvent{Experiment: name, Items: exposed}); err != nil {
			return err
		}
	}
	e.counts.decisions.Add(float64(len(in.Units)))
	return writeBytes(w, http.StatusOK, "application/json", b)
}

// checkCount refuses no units or items, and too many.
func (s *Server) checkCount(what string, n int) error {
	switch {
	case n == 0:
		return noregret.BadInputf(what, "0 %s: want 1 to %d", what, s.config.MaxItems)
	case n > s.config.MaxItems:
		return withStatus(http.StatusRequestEntityTooLarge, noregret.BadInput, what, "%d %s: want 1 to %d", n, what,
			s.config.MaxItems)
	}
	return nil
}

// exposeNow makes exposures durable before the decisions are answered, those of several experiments
// at once.
func (s *Server) exposeNow(r *http.Request, exposures ...experiment.UnitsEvent) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.config.RequestTime)
	defer cancel()
	for part := range slices.Chunk(exposures, groupEvents) {
		var c command
		for i := range part {
			e, err := experiment.NewEvent(experiment.KindExposures, 0, part[i])
			if err != nil {
				return err
			}
			c.events = append(c.events, e)
		}
		if _, err := s.submit(ctx, &c); err != nil {
			return err
		}
	}
	return nil
}
