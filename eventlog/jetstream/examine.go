package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
)

// Condition is how one thing stands that a log in a stream needs.
type Condition struct {
	// What is the thing, in a few words, and Server the server that it is about, "" for all.
	What   string `json:"what"`
	Server string `json:"server,omitempty"`
	// State is "ok", "wrong" or "unknown", and Message says more.
	State   string `json:"state"`
	Message string `json:"message"`
}

// The states of a [Condition].
const (
	OK      = "ok"
	Wrong   = "wrong"
	Unknown = "unknown"
)

// Examine looks at all that a client can see of what the log needs: the servers' version and
// max_payload, the configuration and the copies of the stream and of its buckets. It changes
// nothing, and returns the names of the servers that have a copy. Whether they flush what they
// acknowledge no client can see: their monitors tell. Options.Dir is not used.
func Examine(ctx context.Context, o Options) (servers []string, out []Condition, err error) {
	err = connect(ctx, o, func(l *Log, _ *tries) error {
		info, err := peers(ctx, l.wire, o.Patience)
		if err != nil {
			return err
		}
		add := func(what, server string, err error, format string, args ...any) {
			c := Condition{what, server, OK, fmt.Sprintf(format, args...)}
			if err != nil {
				c.State, c.Message = Wrong, err.Error()
				if e, ok := errors.AsType[*noregret.Error](err); ok {
					c.Message = e.Message
				}
			}
			out = append(out, c)
		}
		add("server", l.wire.conn.ConnectedServerName(), l.suits(), "version %s, max_payload %d",
			l.wire.conn.ConnectedServerVersion(), l.wire.conn.MaxPayload())
		copies := info.Config.Replicas
		add("stream", "", l.check(info.Config), "%d replicas, discard new, deny_delete, no limits", copies)
		if copies < 3 {
			add("replicas", "", fmt.Errorf("%d: the loss of a server is that of the log; want 3", copies), "")
		}
		slices.SortFunc(info.Cluster.Replicas, func(a, b *js.PeerInfo) int { return strings.Compare(a.Name, b.Name) })
		for _, p := range info.Cluster.Replicas {
			var err error
			switch {
			case p.Offline:
				err = errors.New("it is offline")
			case !p.Current && p.Name != info.Cluster.Leader:
				err = fmt.Errorf("it is %d messages behind", p.Lag)
			}
			servers = append(servers, p.Name)
			add("copy", p.Name, err, "it is up to date, as far as the leader %s knows", info.Cluster.Leader)
		}
		for _, b := range []struct{ name, what string }{
			{"KV_" + o.Stream + "-nodes", "bucket of the nodes"},
			{"KV_" + o.Stream + "-lease", "bucket of the lease"},
			{"OBJ_" + o.Stream + "-snapshots", "bucket of snapshots"},
		} {
			s, err := l.wire.js.Stream(ctx, b.name)
			if errors.Is(err, js.ErrStreamNotFound) {
				out = append(out, Condition{b.what, "", Unknown, "it is not there yet"})
				continue
			}
			if err == nil && s.CachedInfo().Config.Replicas != copies {
				err = fmt.Errorf("it has %d replicas: want %d, as the stream", s.CachedInfo().Config.Replicas, copies)
			}
			add(b.what, "", err, "%d replicas", copies)
		}
		return nil
	})
	return servers, out, err
}
