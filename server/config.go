package server

import (
	"log/slog"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/policy"
)

// Config configures a service. The zero value of a field stands for its default.
type Config struct {
	// Data is the directory of the service: the log in "log", the token keys in "keys.json".
	// Required.
	Data string
	// FS is the file system of the log, nil for the machine's.
	FS eventlog.FS
	// Keys sign the decision tokens. Nil means those in the data directory, which are made if they
	// do not exist.
	Keys *policy.Keys
	// Tokens is the file of access tokens; "" means that everybody may do everything, which is
	// allowed on a loopback address only. It is read again when it changes.
	Tokens string
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// Logger gets neither secrets nor units. Nil means slog.Default().
	Logger *slog.Logger
	// Tick is the time between two checks for rounds that may close: default 250 ms, at least 1 ms.
	Tick time.Duration
	// SnapshotEvery is the number of events between snapshots: default 100,000, at least 1.
	SnapshotEvery uint64
	// Retain is how long events are kept for export and replay once a snapshot covers them: default
	// 90 days. With RetainAll they are kept for ever, and Retain must not be given.
	Retain    time.Duration
	RetainAll bool
	// MaxBody bounds a request's body in bytes: default 1 MiB, 1 KiB to 8 MiB.
	MaxBody int64
	// MaxItems bounds the units or items of a request: default 10,000.
	MaxItems int
	// Rate bounds the requests per second of an access token, or of an address where there are
	// none; 0 means no limit. Burst is the number of requests at once: default Rate.
	Rate  float64
	Burst int
	// MaxAnswer bounds the bytes of arms' values in the answer to one request: default 16 MiB, at
	// least 1 KiB. One unit of one experiment is always answered.
	MaxAnswer int
	// MaxStreams bounds the numbers of waiting long polls, of exports, and of dashboards kept up to
	// date that are open at once: default 1,000 each.
	MaxStreams int
	// RequestTime bounds the time of a request, except long polls and streams: default 10 s.
	RequestTime time.Duration
}

// Validate returns an error that names the first field out of its range.
func (c Config) Validate() error {
	bad := func(field string, v any, want string) error {
		return noregret.Errorf(noregret.Usage, field, "%v: want %s", v, want)
	}
	switch {
	case c.Data == "":
		return bad("data", `""`, "a directory")
	case c.Tick < 0 || c.Tick > 0 && c.Tick < time.Millisecond:
		return bad("tick", c.Tick, "at least 1ms")
	case c.Retain < 0:
		return bad("retain", c.Retain, "a length of time above 0")
	case c.RetainAll && c.Retain != 0:
		return bad("retain", c.Retain, "none where all events are retained")
	case c.MaxBody != 0 && (c.MaxBody < 1<<10 || c.MaxBody > 8<<20):
		return bad("max body", c.MaxBody, "1024 to 8388608 bytes")
	case c.MaxItems < 0:
		return bad("max items", c.MaxItems, "at least 1")
	case c.MaxAnswer != 0 && c.MaxAnswer < 1<<10:
		return bad("max answer", c.MaxAnswer, "at least 1024 bytes")
	case c.MaxStreams < 0:
		return bad("max streams", c.MaxStreams, "at least 1")
	case !(c.Rate >= 0) || c.Rate > 1e9:
		return bad("rate", c.Rate, "requests a second, at least 0")
	case c.Burst < 0:
		return bad("burst", c.Burst, "at least 0")
	case c.RequestTime < 0:
		return bad("request time", c.RequestTime, "a length of time above 0")
	}
	return nil
}

// resolve validates the configuration and fills in the defaults.
func (c Config) resolve() (Config, error) {
	if err := c.Validate(); err != nil {
		return c, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	set(&c.Tick, 250*time.Millisecond)
	set(&c.SnapshotEvery, 100_000)
	set(&c.Retain, 90*24*time.Hour)
	set(&c.MaxBody, 1<<20)
	set(&c.MaxItems, 10_000)
	set(&c.MaxAnswer, 16<<20)
	set(&c.MaxStreams, 1000)
	set(&c.RequestTime, 10*time.Second)
	if c.Burst == 0 {
		c.Burst = max(1, int(c.Rate))
	}
	return c, nil
}

func set[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
