package nats

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
)

const (
	saveEvery = 1000             // messages between two calls of Save
	answerIn  = 10 * time.Second // what the server needs at most for an answer
	patience  = 30 * time.Second // without a message, while the stream has some
	held      = 64 << 20         // bytes of messages that are asked for in advance
)

// Options say which messages are read. The zero value reads all and waits for more.
type Options struct {
	From  uint64 // number of the first message, or 0 for the first that the stream has
	Limit int64  // end after so many messages; 0 for no limit
	// Idle ends the copy when no message has come for so long and the stream has no other; 0 is
	// never.
	Idle time.Duration
	// Save is told the number of the message after those whose lines have been written, unless nil.
	Save func(next uint64) error
}

// Copy writes the messages of the stream with the address nats://HOST:PORT/STREAM, which may have
// USER:PASSWORD@ or TOKEN@ before the host. It returns the number of messages that it has written.
// A message that does not end a line gets a line end; an empty one is left out.
func Copy(ctx context.Context, w io.Writer, address string, opt Options) (n int64, err error) {
	server, name, place, err := parse(address)
	if err != nil {
		return 0, err
	}
	if opt.Limit < 0 || opt.Idle < 0 {
		return 0, noregret.Errorf(noregret.Usage, "", "a limit of %d messages and %v without one: neither may be "+
			"negative", opt.Limit, opt.Idle)
	}
	conn, err := client.Connect(server, client.Name("noregret-input"), client.Timeout(answerIn))
	if err != nil {
		return 0, noregret.Errorf(noregret.Internal, place, "no connection: %w", err)
	}
	defer conn.Close()
	c := &copier{opt: opt, place: place, out: bufio.NewWriterSize(w, 64<<10), next: opt.From}
	if err := c.open(ctx, conn, name); err != nil {
		return 0, err
	}
	defer c.messages.Stop()
	defer context.AfterFunc(ctx, c.messages.Stop)()
	err = c.copy(ctx)
	return c.n, errors.Join(err, c.save())
}

// Public returns an address without the name and the password in it.
func Public(address string) (string, error) {
	_, _, place, err := parse(address)
	return place, err
}

// parse splits an address into that of the server, the stream, and the address to show.
func parse(address string) (server, stream, place string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "nats" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", "", "", noregret.Errorf(noregret.Usage, "", "not the address of a stream, as "+
			"nats://127.0.0.1:4222/STREAM")
	}
	stream = strings.TrimPrefix(u.Path, "/")
	if stream == "" || strings.ContainsAny(stream, "/.*> ") {
		return "", "", "", noregret.Errorf(noregret.Usage, "", "%q is not the name of a stream: the address is "+
			"nats://HOST:PORT/STREAM", stream)
	}
	u.Path, u.RawPath = "", ""
	server = u.String()
	u.User = nil
	return server, stream, u.String() + "/" + stream, nil
}

// copier copies the messages of a stream.
type copier struct {
	opt      Options
	place    string
	out      *bufio.Writer
	stream   jetstream.Stream
	messages jetstream.MessagesContext

	next  uint64 // the number of the next message
	saved uint64 // what Save was told last
	n     int64  // messages that have been written
}

// open finds the stream and begins to receive its messages.
func (c *copier) open(ctx context.Context, conn *client.Conn, name string) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return noregret.Errorf(noregret.Internal, c.place, "%w", err)
	}
	ask, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	c.stream, err = js.Stream(ask, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return noregret.Errorf(noregret.NotFound, c.place, "there is no such stream")
	}
	if err != nil {
		return c.failed(ctx, err)
	}
	state := c.stream.CachedInfo().State
	first, last := max(state.FirstSeq, 1), state.LastSeq
	switch {
	case c.next == 0:
		c.next = first
	case c.next < first:
		return noregret.BadInputf(c.place, "the messages %d to %d are no longer in the stream: remove the position to "+
			"begin with the first that is there", c.next, first-1)
	case c.next > last+1:
		return noregret.BadInputf(c.place, "the stream ends with message %d, and the position is %d: it is another "+
			"stream of the same name", last, c.next)
	}
	c.saved = c.next
	consumer, err := js.OrderedConsumer(ask, name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: c.next,
	})
	if err == nil {
		c.messages, err = consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(500, held))
	}
	if err != nil {
		return c.failed(ctx, err)
	}
	return nil
}

// copy writes messages until there is a reason to end.
func (c *copier) copy(ctx context.Context) error {
	var opts []jetstream.NextOpt
	if c.opt.Idle > 0 {
		opts = append(opts, jetstream.NextMaxWait(c.opt.Idle))
	}
	waited := time.Duration(0)
	for c.opt.Limit == 0 || c.n < c.opt.Limit {
		m, err := c.messages.Next(opts...)
		if errors.Is(err, client.ErrTimeout) && ctx.Err() == nil {
			waited += c.opt.Idle
			end, err := c.ended(ctx)
			switch {
			case err != nil:
				return err
			case end:
				return nil
			case waited >= patience:
				return noregret.Errorf(noregret.Internal, c.place, "the stream has messages after %d, and none came "+
					"for %v", c.next-1, waited)
			}
			continue
		}
		if err != nil {
			return c.failed(ctx, err)
		}
		waited = 0
		pending, err := c.write(m)
		if err != nil {
			return err
		}
		if pending == 0 || c.n%saveEvery == 0 { // a line does not wait for the next message
			if err := c.save(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ended reports whether the stream has no message that has not been received.
func (c *copier) ended(ctx context.Context) (bool, error) {
	ask, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	info, err := c.stream.Info(ask)
	if err != nil {
		return false, c.failed(ctx, err)
	}
	if info.State.Msgs == 0 || info.State.LastSeq < c.next {
		return true, nil
	}
	_, err = c.stream.GetMsg(ask, info.State.LastSeq)
	if errors.Is(err, jetstream.ErrMsgNotFound) { // the last one was deleted
		return true, nil
	}
	if err != nil {
		return false, c.failed(ctx, err)
	}
	return false, nil
}

// write writes a message as a line, and returns how many more the stream has.
func (c *copier) write(m jetstream.Msg) (pending uint64, err error) {
	meta, err := m.Metadata()
	if err != nil {
		return 0, noregret.Errorf(noregret.Internal, c.place, "%w", err)
	}
	number := meta.Sequence.Stream
	line := bytes.TrimSuffix(m.Data(), []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if bytes.ContainsAny(line, "\r\n") || !utf8.Valid(line) {
		place := fmt.Sprintf("%s, message %d", c.place, number)
		return 0, noregret.BadInputf(place, "a message must be one line of UTF-8")
	}
	if len(line) > 0 {
		if _, err := c.out.Write(line); err != nil {
			return 0, writeError(err)
		}
		if err := c.out.WriteByte('\n'); err != nil {
			return 0, writeError(err)
		}
	}
	c.next, c.n = number+1, c.n+1
	return meta.NumPending, nil
}

// save writes out all lines and then tells the next message, if it is another one than last time.
func (c *copier) save() error {
	if err := c.out.Flush(); err != nil {
		return writeError(err)
	}
	if c.opt.Save == nil || c.next == c.saved {
		return nil
	}
	c.saved = c.next
	return c.opt.Save(c.next)
}

func writeError(err error) error {
	return noregret.Errorf(noregret.Internal, "", "the output cannot be written: %w", err)
}

// failed is the error of the connection, or that of the context.
func (c *copier) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return noregret.Errorf(noregret.Internal, c.place, "after message %d: %w", c.next-min(c.next, 1), err)
}
