package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
)

const (
	api       = "$JS.API."
	fetchMost = 256     // messages of one request
	fetchSize = 4 << 20 // bytes of one request, beside the last message

	codeWrongSequence = 10071
	codeNoMessage     = 10037
	codeNoStream      = 10059
)

var (
	// errRefused: the stream does not end where the message was expected to follow.
	errRefused = errors.New("the stream ends elsewhere")
	// errNoStream: there is no such stream.
	errNoStream = errors.New("there is no such stream")
	// errNoLeader: no server leads the stream, now.
	errNoLeader = errors.New("no server leads the stream")
)

// wire talks to the servers. Each call is one attempt of at most the timeout.
type wire struct {
	conn    *nats.Conn
	js      js.JetStream
	stream  string
	timeout time.Duration
	// change makes a change, unless a test lets it fail before or behind.
	change func(apply func() error) error
}

// dial connects to one of the servers, as often as it takes until ctx ends.
func dial(ctx context.Context, o Options) (*wire, error) {
	connect := append([]nats.Option{
		nats.Name("noregret"), nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond),
		nats.PingInterval(500 * time.Millisecond), nats.MaxPingsOutstanding(2), nats.Timeout(500 * time.Millisecond),
		nats.ReconnectBufSize(-1),        // what was not sent is sent again by us, or not at all
		nats.SyncQueueLen(2 * fetchMost), // of each fetch; the default takes 512 KiB
	}, o.Connect...)
	for {
		conn, err := nats.Connect(strings.Join(o.Servers, ","), connect...)
		if err == nil {
			w := &wire{conn: conn, stream: o.Stream, timeout: o.Timeout}
			w.change = func(apply func() error) error { return apply() }
			w.js, err = js.New(conn, js.WithDefaultTimeout(o.Timeout))
			return w, err
		}
		if !pause(ctx, 100*time.Millisecond) {
			return nil, noregret.Errorf(noregret.Internal, place(o.Stream), "no connection: %w", err)
		}
	}
}

// pause waits and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
	return ctx.Err() == nil
}

func (w *wire) subject() string { return w.stream + ".log" }

// hint is the subject on which a writer tells the others the sequence number of its last message.
// It is no subject of the stream.
func (w *wire) hint() string { return w.stream + ".hint" }

// answer is that to a published message.
type answer struct {
	Error    *js.APIError `json:"error"`
	Sequence uint64       `json:"seq"`
}

// publish makes one attempt to store a message at its sequence number. After an error other than
// errRefused it may be stored, now or later.
func (w *wire) publish(ctx context.Context, m *message) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	msg := &nats.Msg{Subject: w.subject(), Data: m.data, Header: nats.Header{
		js.ExpectedStreamHeader:  []string{w.stream},
		js.ExpectedLastSeqHeader: []string{strconv.FormatUint(m.sequence-1, 10)},
	}}
	return w.change(func() error {
		reply, err := w.conn.RequestMsgWithContext(ctx, msg)
		if err != nil {
			return err
		}
		var a answer
		if err := json.Unmarshal(reply.Data, &a); err != nil {
			return fmt.Errorf("the answer to an append: %w", err)
		}
		switch {
		case a.Error != nil && a.Error.ErrorCode == codeWrongSequence:
			return fmt.Errorf("%w: %s", errRefused, a.Error.Description)
		case a.Error != nil:
			return a.Error
		case a.Sequence != m.sequence:
			return fmt.Errorf("the stream gave the message %d the number %d", m.sequence, a.Sequence)
		}
		return nil
	})
}

// raw is a message of the stream that was not looked at.
type raw struct {
	sequence uint64
	data     []byte
}

// fetch asks one of the replicas for the messages from a sequence number on. It may lack some that
// others have.
func (w *wire) fetch(ctx context.Context, from uint64, most int) ([]raw, error) {
	return w.direct(ctx, w.stream, map[string]any{"seq": from, "batch": min(most, fetchMost), "max_bytes": fetchSize})
}

// direct asks one of the replicas of a stream for messages.
func (w *wire) direct(ctx context.Context, stream string, which map[string]any) (out []raw, err error) {
	request, err := json.Marshal(which)
	if err != nil {
		return nil, err
	}
	sub, err := w.conn.SubscribeSync(w.conn.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := w.conn.PublishRequest(api+"DIRECT.GET."+stream, sub.Subject, request); err != nil {
		return nil, err
	}
	for {
		next, cancel := context.WithTimeout(ctx, w.timeout)
		m, err := sub.NextMsgWithContext(next)
		cancel()
		if err != nil {
			return nil, err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			sequence, err := strconv.ParseUint(m.Header.Get(js.SequenceHeader), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("a message without a sequence number: %w", err)
			}
			out = append(out, raw{sequence, m.Data})
		case "204", "404":
			return out, nil
		case "503":
			return nil, nats.ErrNoResponders
		default:
			return nil, fmt.Errorf("reading: %s %s", status, m.Header.Get("Description"))
		}
	}
}

// ask sends a request of the API about the stream to its leader.
func (w *wire) ask(ctx context.Context, what, request string, into any) error {
	return w.askOf(ctx, w.stream, what, request, into)
}

// askOf is ask for any stream.
func (w *wire) askOf(ctx context.Context, stream, what, request string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	reply, err := w.conn.RequestWithContext(ctx, api+what+"."+stream, []byte(request))
	if err != nil {
		return err
	}
	var a answer
	if err := errors.Join(json.Unmarshal(reply.Data, &a), json.Unmarshal(reply.Data, into)); err != nil {
		return err
	}
	switch {
	case a.Error == nil:
		return nil
	case a.Error.ErrorCode == codeNoStream:
		return errNoStream
	}
	return a.Error
}

// leading asks the leader for a message. It is nil if the leader does not have it.
func (w *wire) leading(ctx context.Context, sequence uint64) (*raw, error) {
	var got struct {
		Message *struct {
			Sequence uint64 `json:"seq"`
			Data     []byte `json:"data"`
		} `json:"message"`
	}
	err := w.ask(ctx, "STREAM.MSG.GET", fmt.Sprintf(`{"seq":%d}`, sequence), &got)
	if refused, ok := errors.AsType[*js.APIError](err); ok && refused.ErrorCode == codeNoMessage {
		return nil, nil
	}
	if err != nil || got.Message == nil || got.Message.Sequence != sequence {
		return nil, err
	}
	return &raw{sequence, got.Message.Data}, nil
}

// state is what the leader says of the stream. A leader that was deposed may be behind.
type state struct {
	first, last uint64 // sequence numbers
	bytes       uint64
	created     int64
	config      js.StreamConfig
	cluster     *js.ClusterInfo // nil if the server is no part of one
}

// look asks the leader for the state of the stream. While there is none, each replica answers with
// what it has, perhaps less than was acknowledged, and names no leader: that is errNoLeader.
func (w *wire) look(ctx context.Context) (state, error) {
	var info js.StreamInfo
	if err := w.ask(ctx, "STREAM.INFO", "", &info); err != nil {
		return state{}, err
	}
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return state{}, errNoLeader
	}
	return state{
		first: info.State.FirstSeq, last: info.State.LastSeq, bytes: info.State.Bytes,
		created: info.Created.UnixNano(), config: info.Config, cluster: info.Cluster,
	}, nil
}

// purge drops the messages before a sequence number.
func (w *wire) purge(ctx context.Context, first uint64, into any) error {
	return w.ask(ctx, "STREAM.PURGE", fmt.Sprintf(`{"seq":%d}`, first), into)
}

// stepDown asks the leader of a stream to let another server lead.
func (w *wire) stepDown(ctx context.Context, stream, server string) error {
	var ok struct{}
	return w.askOf(ctx, stream, "STREAM.LEADER.STEPDOWN", fmt.Sprintf(`{"placement":{"preferred":%q}}`, server), &ok)
}
