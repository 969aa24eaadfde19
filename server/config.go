package server

import (
	"log/slog"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/policy"
)

// Config configures a service. Start from [DefaultConfig].
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
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
	// Logger gets neither secrets nor units. Nil means slog.Default().
	Logger *slog.Logger
	// Tick is the time between two checks for rounds that may close, at least 1 ms.
	Tick time.Duration
	// SnapshotEvery is the number of events between snapshots, at least 1.
	SnapshotEvery uint64
	// Retain is how long events are kept for export and replay once a snapshot covers them, above
	// 0. RetainAll keeps them for ever, whatever Retain is.
	Retain    time.Duration
	RetainAll bool
	// MaxBody bounds a request's body in bytes, 1 KiB to 8 MiB.
	MaxBody int64
	// MaxItems bounds the units or items of a request, at least 1.
	MaxItems int
	// Rate bounds the requests per second of an access token, or of an address where there are
	// none. Zero means no limit. Burst is the number of requests at once, at least 1 if there is a
	// limit.
	Rate  float64
	Burst int
	// MaxAnswer bounds the bytes of arms' values in the answer to one request, at least 1 KiB. One
	// unit of one experiment is always answered.
	MaxAnswer int
	// MaxStreams bounds the numbers of waiting long polls, of exports, and of dashboards kept up to
	// date that are open at once, each at least 1.
	MaxStreams int
	// RequestTime bounds the time of a request, except long polls and streams, above 0.
	RequestTime time.Duration
}

// DefaultConfig returns the defaults for a data directory: rounds are checked every 250 ms, a
// snapshot is saved every 100,000 events, and events are kept for 90 days. A body has at most 1
// MiB, a request 10,000 units or items and 10 s, an answer 16 MiB, and 1,000 streams of each kind
// are open at once. The rate is not limited.
func DefaultConfig(data string) Config {
	return Config{
		Data: data, Tick: 250 * time.Millisecond,
		SnapshotEvery: 100_000, Retain: 90 * 24 * time.Hour,
		MaxBody: 1 << 20, MaxItems: 10_000, MaxAnswer: 16 << 20, MaxStreams: 1000,
		RequestTime: 10 * time.Second,
	}
}

// Validate returns an error that names the first field out of its range.
func (c Config) Validate() error {
	bad := func(field string, v any, want string) error {
		return noregret.Errorf(noregret.Usage, field, "%v: want %s", v, want)
	}
	switch {
	case c.Data == "":
		return bad("data", `""`, "a directory")
	case c.Tick < time.Millisecond:
		return bad("tick", c.Tick, "at least 1ms")
	case c.SnapshotEvery < 1:
		return bad("snapshot every", c.SnapshotEvery, "at least 1 event")
	case c.Retain <= 0 && !c.RetainAll:
		return bad("retain", c.Retain, "a length of time above 0")
	case c.MaxBody < 1<<10 || c.MaxBody > 8<<20:
		return bad("max body", c.MaxBody, "1024 to 8388608 bytes")
	case c.MaxItems < 1:
		return bad("max items", c.MaxItems, "at least 1")
	case c.MaxAnswer < 1<<10:
		return bad("max answer", c.MaxAnswer, "at least 1024 bytes")
	case c.MaxStreams < 1:
		return bad("max streams", c.MaxStreams, "at least 1")
	case !(c.Rate >= 0) || c.Rate > 1e9:
		return bad("rate", c.Rate, "requests a second, at least 0")
	case c.Burst < 0 || c.Rate > 0 && c.Burst < 1:
		return bad("burst", c.Burst, "at least 1 where the rate is limited")
	case c.RequestTime <= 0:
		return bad("request time", c.RequestTime, "a length of time above 0")
	}
	return nil
}

// resolve validates the configuration and fills in the clock and the logger.
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
	return c, nil
}
