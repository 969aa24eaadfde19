package classify

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/strictjson"
)

// ModelOptions are the options of a training as a model keeps them: the settings that the table of
// settings gives a key in model files, with defaults filled in where they do not depend on the
// data. The other fields of Options are zero. Steps is the schedule that was used, StepsDefault for
// algorithms without any, and BiasFeature 0 without an intercept. The zero value is that of no
// model.
type ModelOptions struct {
	Options
	// Stream reports one pass straight from the reader.
	Stream bool
	// ValidDigest is the digest of separate held-out data, else "".
	ValidDigest string
}

// newModelOptions returns what a model keeps of the options of a training.
func newModelOptions(o Options) (ModelOptions, error) {
	o = o.EnsureDefaults()
	if o.Config.NoIntercept {
		o.Config.BiasFeature = 0
	}
	from, to := ModelOptions{Options: o}, ModelOptions{}
	for i, m := range from.members() {
		raw, err := strictjson.Encode(m.written())
		if err == nil {
			err = to.members()[i].read(raw)
		}
		if err != nil {
			return to, noregret.Errorf(noregret.Internal, "model", "the option %s cannot be kept: %w", m.key, err)
		}
	}
	if o.Valid != nil {
		to.ValidDigest = o.Valid.Set.Info().Digest
	}
	return to, nil
}

// keptSetting is a member of the options in a model file.
type keptSetting struct {
	key   string
	value any // a pointer to a plain value, or one of the types of settings_value.go
}

// members lists the members in the order of the file.
func (o *ModelOptions) members() []keptSetting {
	var out []keptSetting
	for _, s := range settings {
		switch {
		case s.key == "":
		case s.stored != nil:
			out = append(out, keptSetting{s.key, s.stored(&o.Options)})
		default:
			out = append(out, keptSetting{s.key, s.field(&o.Options)})
		}
	}
	return append(out, keptSetting{"stream", &o.Stream}, keptSetting{"valid", &o.ValidDigest})
}

// absent reports whether the file leaves the member out.
func (m keptSetting) absent() bool {
	switch v := m.value.(type) {
	case driftFlag:
		return v.o.Drift.Kind == forget.None
	case weightsFlag:
		return !v.value.given()
	case nameFlag[CalibrationRule]:
		return *v.value == CalibrationAuto
	}
	return false
}

// written returns the value that the file has.
func (m keptSetting) written() any {
	switch p := m.value.(type) {
	case inverted:
		return !*p.value
	case shareFlag:
		return *p.value
	case openFlag, levelFlag:
		return json.Number(p.(FlagValue).String())
	case FlagValue:
		return p.String()
	default:
		return p
	}
}

// read sets the value to that in the file.
func (m keptSetting) read(raw []byte) error {
	decode := func(v any) error { return strictjson.Decode(raw, v, strictjson.Rules{}) }
	switch p := m.value.(type) {
	case inverted:
		err := decode(p.value)
		*p.value = !*p.value
		return err
	case shareFlag:
		return decode(p.value)
	case openFlag, levelFlag:
		var n int
		if err := decode(&n); err != nil {
			return err
		}
		if err := p.(FlagValue).Set(strconv.Itoa(n)); err != nil {
			return noregret.BadInputf("", "%d, %w", n, err)
		}
	case FlagValue:
		var text string
		if err := decode(&text); err != nil {
			return err
		}
		if err := p.Set(text); err != nil {
			return noregret.BadInputf("", "%q: %w", text, err)
		}
	default:
		return decode(p)
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (o ModelOptions) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for _, m := range o.members() {
		if m.absent() {
			continue
		}
		value, err := strictjson.Encode(m.written())
		if err != nil {
			return nil, err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, m.key), ':'), value...)
	}
	return append(b, '}'), nil
}

// UnmarshalStrict implements [strictjson.Unmarshaler].
func (o *ModelOptions) UnmarshalStrict(_ byte, decode func(v any) error) error {
	var given map[string]json.RawMessage
	if err := decode(&given); err != nil {
		return err
	}
	var known []string
	for _, m := range o.members() {
		known = append(known, m.key)
		raw, ok := given[m.key]
		if !ok && m.absent() {
			continue
		}
		if !ok {
			return noregret.BadInputf(m.key, "the field is missing")
		}
		if err := m.read(raw); err != nil {
			return noregret.BadInputf(m.key, "%w", err)
		}
		delete(given, m.key)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return noregret.BadInputf(name, "unknown field; known fields: %s", strings.Join(known, ", "))
	}
	return nil
}

// check returns an error for options out of their ranges.
func (o ModelOptions) check() error {
	for _, s := range settings {
		if s.key == "" {
			continue
		}
		if v, ok := s.InRange(&o.Options); !ok {
			return noregret.BadInputf("options."+s.key, "%v, want %s", v, s.Want)
		}
	}
	if o.Config.Reward == nil {
		return noregret.BadInputf("options.reward", "no reward is given")
	}
	if err := checkDrift(o.Drift); err != nil {
		return noregret.BadInputf("options.drift", "%w", err)
	}
	if o.ValidDigest != "" && !isDigest(o.ValidDigest) {
		return noregret.BadInputf("options.valid", "%q, want \"\" or sha256: and 64 hexadecimal digits", o.ValidDigest)
	}
	return nil
}
