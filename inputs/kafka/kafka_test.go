package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/noregret/noregret"
)

const idle = 50 * time.Millisecond

// startBrokers starts brokers with the topic clicks and returns its address and a client that
// sends.
func startBrokers(t *testing.T, partitions int32, opts ...kfake.Opt) (address string, client *kgo.Client) {
	t.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(3), kfake.SeedTopics(partitions, "clicks")}, opts...)
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client = newClient(t, cluster.ListenAddrs())
	return "kafka://" + strings.Join(cluster.ListenAddrs(), ",") + "/clicks", client
}

func newClient(t *testing.T, addrs []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addrs...), kgo.DefaultProduceTopic("clicks"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// record is a message of a partition with a time in milliseconds.
func record(partition int32, at int64, value string) *kgo.Record {
	return &kgo.Record{Partition: partition, Timestamp: time.UnixMilli(at), Value: []byte(value)}
}

func produce(t *testing.T, client *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// merged is the order of the contract: of the heads of all partitions the earliest, then the
// lowest.
func merged(records []*kgo.Record, partitions int) (lines []string, at []int) {
	queues := make([][]*kgo.Record, partitions)
	for _, r := range records {
		queues[r.Partition] = append(queues[r.Partition], r)
	}
	for {
		best := -1
		for p, q := range queues {
			if len(q) > 0 && (best < 0 || q[0].Timestamp.UnixMilli() < queues[best][0].Timestamp.UnixMilli()) {
				best = p
			}
		}
		if best < 0 {
			return lines, at
		}
		lines, at = append(lines, string(queues[best][0].Value)+"\n"), append(at, best)
		queues[best] = queues[best][1:]
	}
}

// Whatever brokers answer first, the order is that of the times; and it goes on after any of the
// positions that were kept. The partitions are larger than what is held of one.
func TestOrder(t *testing.T) {
	const partitions, each = 4, 2500
	address, client := startBrokers(t, partitions)
	rng := rand.New(rand.NewPCG(1, 2))
	var records []*kgo.Record
	for p := range int32(partitions) {
		at := int64(1_700_000_000_000)
		if p == 2 {
			at += 3000 // this one waits for most of the others
		}
		for i := range each {
			at += rng.Int64N(4) - rng.Int64N(2) // ties, and times that go back
			records = append(records, record(p, at, fmt.Sprintf("%d:%d %s", p, i, strings.Repeat("x", 600))))
		}
	}
	produce(t, client, records...)
	want, from := merged(records, partitions)

	var out bytes.Buffer
	var saved [][]int64
	n, err := Copy(t.Context(), &out, address, Options{Idle: idle, Save: func(next []int64) error {
		sum := int64(0)
		for _, v := range next {
			sum += v
		}
		if lines := bytes.Count(out.Bytes(), []byte("\n")); int64(lines) != sum {
			t.Errorf("position %d after %d lines", next, lines)
		}
		saved = append(saved, slices.Clone(next))
		return nil
	}})
	if err != nil || n != partitions*each || out.String() != strings.Join(want, "") {
		t.Fatalf("%d messages, %v, %d bytes, wanted %d", n, err, out.Len(), len(strings.Join(want, "")))
	}
	if len(saved) != 10 || !slices.Equal(saved[9], []int64{each, each, each, each}) {
		t.Fatalf("%d positions, the last %d", len(saved), saved[len(saved)-1])
	}
	wanted := make([]int64, partitions)
	for i, p := range from[:3000] {
		if wanted[p]++; (i+1)%1000 == 0 && !slices.Equal(saved[i/1000], wanted) {
			t.Errorf("position %d after %d messages, wanted %d", saved[i/1000], i+1, wanted)
		}
	}
	out.Reset()
	n, err = Copy(t.Context(), &out, address, Options{From: saved[2], Limit: 1500})
	if err != nil || n != 1500 || out.String() != strings.Join(want[3000:4500], "") {
		t.Errorf("from %d: %d messages, %v", saved[2], n, err)
	}
	out.Reset()
	n, err = Copy(t.Context(), &out, address, Options{From: saved[9], Idle: idle})
	if err != nil || n != 0 || out.Len() != 0 {
		t.Errorf("from the end: %d messages, %v", n, err)
	}
}

// A line does not wait for the next message, and a partition that is made meanwhile is read.
func TestLinesComeAtOnce(t *testing.T) {
	address, client := startBrokers(t, 1)
	produce(t, client, record(0, 5, "1 1:1"), record(0, 6, "0 1:2\n"))
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	var last []int64
	n, err := Copy(ctx, &out, address, Options{Save: func(next []int64) error {
		switch last = slices.Clone(next); {
		case slices.Equal(next, []int64{2}):
			morePartitions(t, client, 3)
			brokers, _, _ := parse(address)
			produce(t, newClient(t, brokers), record(2, 1, "1 1:4"), record(0, 9, ""), record(0, 9, "1 1:3\r\n"))
		case slices.Equal(next, []int64{4, 0, 1}):
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || n != 5 || !slices.Equal(last, []int64{4, 0, 1}) {
		t.Errorf("%d messages, %v, position %d", n, err, last)
	}
	for _, line := range []string{"1 1:1\n0 1:2\n", "\n1 1:3\n", "\n1 1:4\n"} {
		if !strings.Contains(out.String(), line) || out.Len() != 24 {
			t.Errorf("%q, wanted %q", out.String(), line)
		}
	}
}

func morePartitions(t *testing.T, client *kgo.Client, n int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	topic := kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = "clicks", n
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(t.Context(), client)
	if err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatalf("%v, %+v", err, resp)
	}
}

// What a transaction has taken back is not written, and its marks are no messages.
func TestTransactions(t *testing.T) {
	address, client := startBrokers(t, 1)
	produce(t, client, record(0, 1, "a"))
	brokers, _, _ := parse(address)
	writer := newClient(t, brokers, kgo.TransactionalID("one"))
	for _, c := range []struct {
		value string
		end   kgo.TransactionEndTry
	}{{"b", kgo.TryCommit}, {"c", kgo.TryAbort}, {"d", kgo.TryCommit}, {"e", kgo.TryAbort}} {
		if err := writer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		produce(t, writer, record(0, 1, c.value))
		if err := writer.EndTransaction(t.Context(), c.end); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	var last []int64
	n, err := Copy(t.Context(), &out, address, Options{Idle: idle, Save: func(next []int64) error {
		last = slices.Clone(next)
		return nil
	}})
	if err != nil || n != 3 || out.String() != "a\nb\nd\n" || !slices.Equal(last, []int64{9}) {
		t.Errorf("%d messages, %v, %q, position %d", n, err, out.String(), last)
	}
	if err := writer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produce(t, writer, record(0, 1, "f")) // not decided: it waits for a later run
	out.Reset()
	n, err = Copy(t.Context(), &out, address, Options{From: last, Idle: idle})
	if err != nil || n != 0 || out.Len() != 0 {
		t.Errorf("an open transaction: %d messages, %v, %q", n, err, out.String())
	}
}

func TestFaults(t *testing.T) {
	address, client := startBrokers(t, 2)
	produce(t, client, record(0, 1, "a"), record(0, 2, "b"), record(1, 3, "c\nd"))
	var out bytes.Buffer
	var saved []int64
	n, err := Copy(t.Context(), &out, address, Options{Idle: idle, Save: func(next []int64) error {
		saved = slices.Clone(next)
		return nil
	}})
	if noregret.CodeOf(err) != noregret.BadInput || n != 2 || !slices.Equal(saved, []int64{2, 0}) ||
		out.String() != "a\nb\n" ||
		!strings.Contains(err.Error(), "/clicks, partition 1, message 0: a message must be one line") {
		t.Errorf("%d messages, %v, position %d, %q", n, err, saved, out.String())
	}
	// What could not be written is not counted as written.
	saved = nil
	_, err = Copy(t.Context(), failing{}, address, Options{Limit: 1, Save: func(next []int64) error {
		saved = next
		return nil
	}})
	if noregret.CodeOf(err) != noregret.Internal || saved != nil ||
		!strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("%v, position %d", err, saved)
	}

	del := kmsg.NewPtrDeleteRecordsRequest()
	topic := kmsg.NewDeleteRecordsRequestTopic()
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Offset, topic.Topic = 1, "clicks"
	topic.Partitions = append(topic.Partitions, part)
	del.Topics = append(del.Topics, topic)
	if resp, err := del.RequestWith(t.Context(), client); err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatal(resp, err)
	}
	out.Reset()
	if n, err := Copy(t.Context(), &out, address, Options{Limit: 1}); err != nil || n != 1 || out.String() != "b\n" {
		t.Errorf("after the first was deleted: %d messages, %v, %q", n, err, out.String())
	}
	for _, c := range []struct {
		from []int64
		want string
	}{
		{[]int64{0, 0}, "the messages 0 to 0 of partition 0 are no longer in the topic"},
		{[]int64{1, 2}, "partition 1 ends before message 1, and the position is 2"},
		{[]int64{1, -1}, "the position in partition 1 is -1"},
		{[]int64{1, 0, 0}, "the topic has 2 partitions, and the position is one in 3"},
	} {
		_, err := Copy(t.Context(), &out, address, Options{From: c.from, Idle: idle})
		if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), "/clicks: "+c.want) {
			t.Errorf("from %d: %v", c.from, err)
		}
	}

	_, err = Copy(t.Context(), &out, strings.TrimSuffix(address, "clicks")+"other", Options{})
	if noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("no topic: %v", err)
	}
	for _, a := range []string{
		"kafka://h:1", "kafka:///t", "nats://h:1/t", "kafka://h:1/a/b", "kafka://h:1/a?b", "kafka://h/t",
		"kafka://h:1,/t", "kafka://u:p@h:1/t", "kafka://h:1/..", "://",
	} {
		if _, err := Copy(t.Context(), &out, a, Options{}); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%q: %v", a, err)
		}
	}
}

func TestPasswords(t *testing.T) {
	address := startBrokersWithPassword(t)
	var out bytes.Buffer
	good := Credentials{"scram-sha-256", "ann", "right"}
	n, err := Copy(t.Context(), &out, address, Options{Limit: 1, SASL: good})
	if err != nil || n != 1 || out.String() != "a\n" {
		t.Errorf("%d messages, %v, %q", n, err, out.String())
	}
	for want, c := range map[string]Credentials{
		"plain without TLS would show the password": {"plain", "ann", "right"},
		`"md5" is no mechanism`:                     {"md5", "ann", "right"},
		"needs a name and a password":               {"scram-sha-256", "ann", ""},
	} {
		_, err := Copy(t.Context(), &out, address, Options{Limit: 1, SASL: c})
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func startBrokersWithPassword(t *testing.T) (address string) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "clicks"), kfake.EnableSASL(),
		kfake.Superuser("SCRAM-SHA-256", "ann", "right"), kfake.Superuser("SCRAM-SHA-512", "ann", "right"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	m, err := Credentials{"scram-sha-512", "ann", "right"}.mechanism(false)
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(t, cluster.ListenAddrs(), kgo.SASL(m))
	produce(t, client, record(0, 1, "a"))
	return "kafka://" + cluster.ListenAddrs()[0] + "/clicks"
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }
