package policy

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/noregret/noregret"
)

// Arm is one thing that can be decided: a name and any JSON value.
type Arm struct {
	Name  string          `json:"name" minLength:"1" maxLength:"200" line:"true"`
	Value json.RawMessage `json:"value" schema:"ArmValue"`
}

// Duration is a length of time, written as Go writes it: "90s", "1h30m", "36h".
type Duration time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return noregret.BadInputf("", "%s: want a length of time such as \"90s\", \"1h30m\" or \"36h\"",
			strconv.Quote(string(b)))
	}
	*d = Duration(v)
	return nil
}
