package server

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// unitForm is a unit in a request: its name, or {"id": name, "context": {...}}.
type unitForm struct{ api.UnitContext }

// UnmarshalStrict implements [strictjson.Unmarshaler].
func (u *unitForm) UnmarshalStrict(first byte, decode func(v any) error) error {
	switch first {
	case '"':
		return decode(&u.ID)
	case '{':
		return decode(&u.UnitContext)
	}
	return noregret.BadInputf("", "want a unit's name, or {\"id\": name, \"context\": {...}}")
}

var _ strictjson.Unmarshaler = (*unitForm)(nil)

// checkContext returns an error, with the given place, for a context that is longer than
// [policy.MaxContext]. A policy that looks at no context does not read it, so the policy's encoder
// alone is not enough.
func checkContext(place string, context json.RawMessage) error {
	if len(context) > policy.MaxContext {
		return noregret.BadInputf(place, "%d bytes: want at most %d", len(context), policy.MaxContext)
	}
	return nil
}

// vectors are reused for contexts.
var vectors = sync.Pool{New: func() any { return new([]float64) }}

// assign decides for a unit. It returns the context to log: nil if the policy looks at none. The
// error names the context's place, such as "context.age".
func (e *entry) assign(unit string, context json.RawMessage) (policy.Assignment, json.RawMessage, error) {
	if err := checkContext("context", context); err != nil {
		return policy.Assignment{}, nil, err
	}
	if e.encoder == nil {
		if len(context) > 0 {
			return policy.Assignment{}, nil, noregret.BadInputf("context", "the policy does not look at it: want none")
		}
		return e.policy.Decide(unit), nil, nil
	}
	if e.policy.Linear == nil { // whatever the contexts
		return e.policy.Decide(unit), nil, nil
	}
	buffer := vectors.Get().(*[]float64)
	defer vectors.Put(buffer)
	x, err := e.encoder.Encode(*buffer, context)
	if err != nil {
		return policy.Assignment{}, nil, err
	}
	*buffer = x
	return e.policy.DecideIn(unit, x), context, nil
}

// unitPlace is the place of a unit in a request.
func unitPlace(i int) string { return "units[" + strconv.Itoa(i) + "]" }

// placed adds the place of a unit to an error about its context.
func placed(i int, err error) error {
	e, ok := err.(*noregret.Error)
	if !ok {
		return err
	}
	return &noregret.Error{Code: e.Code, Place: unitPlace(i) + "." + e.Place, Message: e.Message, Err: e.Err}
}
