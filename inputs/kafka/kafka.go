package kafka

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/noregret/noregret"
)

const (
	saveEvery = 1000             // messages between two calls of Save
	answerIn  = 10 * time.Second // what a broker needs at most for an answer
	patience  = 30 * time.Second // without a message, while the topic has some
	held      = 1 << 20          // bytes of a partition after which no more are asked for
	maxAddrs  = 100              // brokers in an address
)

// Options say which messages are read, and how brokers are spoken to. The zero value reads all
// messages, without TLS and password, and waits for more.
type Options struct {
	// From has the number of the first message of each partition; of a partition beyond the end of
	// it, the first message that is there.
	From  []int64
	Limit int64 // end after so many messages; 0 for no limit
	// Idle ends the copy when no message has come for so long and the topic has no other; 0 is
	// never.
	Idle time.Duration
	// Save is told the numbers of the messages after those whose lines have been written, one for
	// each partition, unless nil. It must not keep the slice.
	Save func(next []int64) error

	TLS  *tls.Config // TLS to the brokers, unless nil
	SASL Credentials
}

// Copy writes the messages of the topic with the address kafka://HOST:PORT,.../TOPIC and returns
// the number of those it has written. A message that does not end a line gets a line end; an empty
// one, also one without a value, is left out. Keys and headers are not read.
func Copy(ctx context.Context, w io.Writer, address string, opt Options) (n int64, err error) {
	brokers, topic, err := parse(address)
	if err != nil {
		return 0, err
	}
	if opt.Limit < 0 || opt.Idle < 0 {
		return 0, noregret.Errorf(noregret.Usage, "", "a limit of %d messages and %v without one: neither may be "+
			"negative", opt.Limit, opt.Idle)
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.ClientID("noregret-input"), kgo.DisableClientMetrics(),
		kgo.DialTimeout(answerIn), kgo.RetryTimeout(answerIn), kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.FetchMaxPartitionBytes(held), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
	}
	if opt.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(opt.TLS))
	}
	if opt.SASL.Mechanism != "" {
		m, err := opt.SASL.mechanism(opt.TLS != nil)
		if err != nil {
			return 0, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return 0, noregret.Errorf(noregret.Usage, "", "%w", err)
	}
	defer client.Close()
	c := &copier{opt: opt, place: address, topic: topic, client: client, out: bufio.NewWriterSize(w, 64<<10)}
	if err := c.begin(ctx); err != nil {
		return 0, err
	}
	err = c.copy(ctx)
	return c.n, errors.Join(err, c.save())
}

// parse splits an address into those of the brokers and the topic.
func parse(address string) (brokers []string, topic string, err error) {
	rest, ok := strings.CutPrefix(address, "kafka://")
	hosts, topic, _ := strings.Cut(rest, "/")
	if !ok || hosts == "" || strings.ContainsAny(hosts, "@?# ") {
		return nil, "", noregret.Errorf(noregret.Usage, "", "not the address of a topic, as "+
			"kafka://127.0.0.1:9092/TOPIC, with commas between several brokers, and without a name and a password")
	}
	if topic == "" || topic == "." || topic == ".." || len(topic) > 249 || strings.Trim(topic, topicLetters) != "" {
		return nil, "", noregret.Errorf(noregret.Usage, "", "%q is not the name of a topic: the address is "+
			"kafka://HOST:PORT,.../TOPIC", topic)
	}
	brokers = strings.Split(hosts, ",")
	for _, b := range brokers {
		if host, port, err := net.SplitHostPort(b); err != nil || host == "" || port == "" {
			return nil, "", noregret.Errorf(noregret.Usage, "", "%q is not the address of a broker, as "+
				"127.0.0.1:9092", b)
		}
	}
	if len(brokers) > maxAddrs {
		return nil, "", noregret.Errorf(noregret.Usage, "", "%d brokers in the address, and at most %d are allowed",
			len(brokers), maxAddrs)
	}
	return brokers, topic, nil
}

const topicLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// copier copies the messages of a topic.
type copier struct {
	opt    Options
	place  string
	topic  string
	client *kgo.Client
	out    *bufio.Writer

	parts []partition
	n     int64   // messages that have been written
	saved []int64 // what Save was told last
}

// partition is where the copy is in a partition.
type partition struct {
	next   int64         // the number of the next message
	end    int64         // the pass ends before this one
	queue  []*kgo.Record // messages that came and were not written
	bytes  int           // in the queue
	paused bool          // no more are asked for
}

// copy makes passes until there is a reason to end.
func (c *copier) copy(ctx context.Context) error {
	for {
		if err := c.ends(ctx); err != nil {
			return err
		}
		last := c.n
		for c.opt.Limit == 0 || c.n < c.opt.Limit {
			p, err := c.earliest(ctx)
			if err != nil {
				return err
			}
			if p < 0 {
				break
			}
			if err := c.write(p); err != nil {
				return err
			}
			if c.n%saveEvery == 0 && c.n > last {
				if err := c.save(); err != nil {
					return err
				}
				last = c.n
			}
		}
		if err := c.save(); err != nil { // a line does not wait for the next message
			return err
		}
		if c.opt.Limit > 0 && c.n >= c.opt.Limit {
			return nil
		}
		if end, err := c.wait(ctx); end || err != nil {
			return err
		}
	}
}

// wait waits for messages after those of the pass, and reports whether the copy ends as there are
// none.
func (c *copier) wait(ctx context.Context) (end bool, err error) {
	if slices.ContainsFunc(c.parts, func(p partition) bool { return len(p.queue) > 0 }) {
		return false, nil
	}
	if c.opt.Idle == 0 { // a new partition sends nothing before it is asked for
		_, err := c.poll(ctx, time.Minute)
		return false, err
	}
	if came, err := c.poll(ctx, c.opt.Idle); came || err != nil {
		return false, err
	}
	if err := c.ends(ctx); err != nil {
		return false, err
	}
	return !slices.ContainsFunc(c.parts, partition.open), nil
}

func (p partition) open() bool { return p.next < p.end }

// earliest returns the partition of the next message of the pass, or -1 at its end.
func (c *copier) earliest(ctx context.Context) (int, error) {
	waited := time.Duration(0)
	for {
		best, missing := -1, -1
		for i := range c.parts {
			p := &c.parts[i]
			switch {
			case !p.open():
			case len(p.queue) == 0:
				missing = i
			case p.queue[0].Offset >= p.end: // those before the end were compacted
				p.next = p.end
			case best < 0 || p.queue[0].Timestamp.Before(c.parts[best].queue[0].Timestamp):
				best = i
			}
		}
		if missing < 0 {
			return best, nil
		}
		came, err := c.poll(ctx, time.Second)
		if err != nil {
			return -1, err
		}
		if waited += time.Second; came {
			waited = 0
		}
		if waited >= patience {
			p := c.parts[missing]
			return -1, noregret.Errorf(noregret.Internal, c.place, "partition %d has the messages %d to %d, and none "+
				"came for %v", missing, p.next, p.end-1, waited)
		}
	}
}

// poll takes what brokers have sent, and waits up to a time for it. It reports whether anything
// came.
func (c *copier) poll(ctx context.Context, wait time.Duration) (came bool, err error) {
	c.resume()
	ask, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	fetches := c.client.PollFetches(ask)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	fetches.EachError(func(_ string, p int32, e error) {
		switch {
		case errors.Is(e, context.DeadlineExceeded) && ask.Err() != nil:
		case errors.Is(e, kerr.OffsetOutOfRange):
			err = noregret.BadInputf(c.place, "message %d of partition %d is no longer in the topic",
				c.parts[p].next, p)
		default:
			err = c.failed(ctx, fmt.Errorf("partition %d: %w", p, e))
		}
	})
	if err != nil {
		return false, err
	}
	fetches.EachRecord(func(r *kgo.Record) {
		p := &c.parts[r.Partition]
		p.queue, p.bytes, came = append(p.queue, r), p.bytes+len(r.Value)+len(r.Key), true
	})
	return came, nil
}

// resume asks for messages of the partitions that hold few, and of no others.
func (c *copier) resume() {
	pause, resume := map[string][]int32{}, map[string][]int32{}
	for i := range c.parts {
		p := &c.parts[i]
		full := p.bytes >= held || p.paused && len(p.queue) > 0
		if full != p.paused {
			to := resume
			if full {
				to = pause
			}
			to[c.topic], p.paused = append(to[c.topic], int32(i)), full
		}
	}
	if len(pause) > 0 { // no partitions would be a question
		c.client.PauseFetchPartitions(pause)
	}
	if len(resume) > 0 {
		c.client.ResumeFetchPartitions(resume)
	}
}

// write writes the next message of a partition as a line.
func (c *copier) write(i int) error {
	p := &c.parts[i]
	r := p.queue[0]
	if !r.Attrs.IsControl() { // control records are marks of transactions
		line := bytes.TrimSuffix(bytes.TrimSuffix(r.Value, []byte("\n")), []byte("\r"))
		if bytes.ContainsAny(line, "\r\n") || !utf8.Valid(line) {
			place := fmt.Sprintf("%s, partition %d, message %d", c.place, i, r.Offset)
			return noregret.BadInputf(place, "a message must be one line of UTF-8")
		}
		if len(line) > 0 {
			if _, err := c.out.Write(line); err != nil {
				return writeError(err)
			}
			if err := c.out.WriteByte('\n'); err != nil {
				return writeError(err)
			}
		}
		c.n++
	}
	p.queue[0], p.queue = nil, p.queue[1:]
	p.bytes -= len(r.Value) + len(r.Key)
	p.next = r.Offset + 1
	return nil
}

// save writes out all lines and then tells the next messages, if they are others than last time.
func (c *copier) save() error {
	if err := c.out.Flush(); err != nil {
		return writeError(err)
	}
	if c.opt.Save == nil {
		return nil
	}
	next := make([]int64, len(c.parts))
	for i, p := range c.parts {
		next[i] = p.next
	}
	if slices.Equal(next, c.saved) {
		return nil
	}
	c.saved = next
	return c.opt.Save(next)
}

func writeError(err error) error {
	return noregret.Errorf(noregret.Internal, "", "the output cannot be written: %w", err)
}

// failed is the error of a broker, or that of the context.
func (c *copier) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return noregret.Errorf(noregret.Internal, c.place, "%w", err)
}
