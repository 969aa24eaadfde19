package policy

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
)

// Arm is one thing that can be decided: a name and any JSON value.
type Arm struct {
	Name  string          `json:"name" minLength:"1" maxLength:"200" line:"true"`
	Value json.RawMessage `json:"value" schema:"ArmValue"`
}

// Duration is a length of time, written as Go writes it: "90s", "1h30m", "36h". It may be read with
// days of 24 hours in front: "7d", "1d12h".
type Duration time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// String writes the length as people do, in a form that UnmarshalText reads: without parts that are
// 0 ("1m30s", "36h"), and two days and more of 24 hours as days if they are whole ("7d").
func (d Duration) String() string {
	const day = 24 * time.Hour
	v := time.Duration(d)
	if v%day == 0 && v >= 2*day {
		return strconv.FormatInt(int64(v/day), 10) + "d"
	}
	s := v.String()
	if v%time.Minute == 0 && v != 0 {
		s = strings.TrimSuffix(s, "0s")
	}
	if v%time.Hour == 0 && v != 0 {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := parseDuration(string(b))
	if err != nil {
		return noregret.BadInputf("", "%s: want a length of time such as \"90s\", \"1h30m\", \"36h\" or \"7d\"",
			strconv.Quote(string(b)))
	}
	*d = Duration(v)
	return nil
}

// parseDuration is [time.ParseDuration] with days in front.
func parseDuration(s string) (time.Duration, error) {
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	v, err := time.ParseDuration(days + "h")
	if err != nil || strings.Trim(days, "+.0123456789") != "" || v > math.MaxInt64/48 {
		return 0, noregret.BadInputf("", "%q days", days)
	}
	if rest == "" {
		return 24 * v, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || rest[0] == '+' || more < 0 || more > math.MaxInt64/2 {
		return 0, noregret.BadInputf("", "%q after the days", rest)
	}
	return 24*v + more, nil
}
